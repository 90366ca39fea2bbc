"""The models that come with the package; each has a card, `MODEL_CARD.md`."""

from pathlib import Path

_FOLDER = Path(__file__).parent

#: Model directories of the English-German teacher and its student.
EN_DE_TEACHER = _FOLDER / "en_de" / "teacher"
EN_DE_STUDENT = _FOLDER / "en_de" / "student"

#: All of them by the name that `load_translator` knows.
MODELS = {"en_de/student": EN_DE_STUDENT, "en_de/teacher": EN_DE_TEACHER}

#: Their test set: lines of style (everyday, technical or news), English and German,
#: between tabs.
EN_DE_TEST = _FOLDER / "en_de" / "test.tsv"
