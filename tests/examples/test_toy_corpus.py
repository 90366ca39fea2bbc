"""The toy corpus against German and English written out by hand."""

import collections
import itertools

import pytest

from examples import toy_corpus as toy

#: Nominative, accusative, dative.
PARADIGMS = {
    "the old client": "der alte Kunde, den alten Kunden, dem alten Kunden",
    "the old woman": "die alte Frau, die alte Frau, der alten Frau",
    "the old child": "das alte Kind, das alte Kind, dem alten Kind",
    "the old children": "die alten Kinder, die alten Kinder, den alten Kindern",
    "this old man": "dieser alte Mann, diesen alten Mann, diesem alten Mann",
    "this old woman": "diese alte Frau, diese alte Frau, dieser alten Frau",
    "this old child": "dieses alte Kind, dieses alte Kind, diesem alten Kind",
    "this old clients": "diese alten Kunden, diese alten Kunden, diesen alten Kunden",
    "a old man": "ein alter Mann, einen alten Mann, einem alten Mann",
    "a old woman": "eine alte Frau, eine alte Frau, einer alten Frau",
    "a old child": "ein altes Kind, ein altes Kind, einem alten Kind",
    "a old cars": "alte Autos, alte Autos, alten Autos",
    "no old man": "kein alter Mann, keinen alten Mann, keinem alten Mann",
    "my old woman": "meine alte Frau, meine alte Frau, meiner alten Frau",
    "no old child": "kein altes Kind, kein altes Kind, keinem alten Kind",
    "my old men": "meine alten Männer, meine alten Männer, meinen alten Männern",
}


STATEMENT, QUESTION, WHY, BECAUSE = toy.LINKS


def word(english, table):
    """Finds a word by all of its English or, if it is inflected, by one form."""
    inflected = table in (toy.NOUNS, toy.VERBS)
    for entry in table:
        if english == " ".join(entry.english):
            return entry
    (found,) = [entry for entry in table if inflected and english in entry.english]
    return found


def phrase(text):
    """Reads `he`, or `in front of the old houses` and the like."""
    *words, noun = text.split()
    if not words:
        pronoun = word(noun, toy.PRONOUNS)
        return toy.Phrase(pronoun, "many" in pronoun.kinds)
    entry, old = word(noun, toy.NOUNS), word("old", toy.ADJECTIVES)
    adjective = old if words[-1] == "old" else toy.NO_WORD
    *preposition, determiner = [w for w in words if w != "old"]
    before = word(" ".join(preposition), toy.PREPOSITIONS) if preposition else None
    plural = noun == entry.english[1]
    return toy.Phrase(entry, plural, determiner, adjective, before or toy.NO_WORD)


NO_OTHERS = {"link": STATEMENT, "time": toy.Phrase(), "past": False, "negated": False}


def clause(subject, verb, thing=None, place=None, **others):
    return toy.Clause(
        subject=phrase(subject),
        verb=word(verb, toy.VERBS),
        object=phrase(thing) if thing else toy.Phrase(),
        place=phrase(place) if place else toy.Phrase(),
        **NO_OTHERS | others,
    )


def all_german(*clauses):
    """All that is drawn in many draws."""
    toy.seed(1)
    return {toy.written(clauses, toy.german_clause) for _ in range(300)}


def variants(*parts):
    """All ways through: `variants("Er", "kauft|sieht", "es.")`."""
    return set(map(" ".join, itertools.product(*(part.split("|") for part in parts))))


@pytest.mark.parametrize("english", PARADIGMS)
def test_articles_adjectives_and_nouns_agree(english):
    nominative, accusative, dative = PARADIGMS[english].split(", ")
    ending = "en" if phrase(english).plural else "t"
    subject = nominative[0].upper() + nominative[1:]
    assert f"{subject} sing{ending}." in all_german(clause(english, "sing"))
    assert f"Er besucht {accusative}." in all_german(clause("he", "visit", english))
    assert f"Er dankt {dative}." in all_german(clause("he", "thank", english))


YESTERDAY = toy.Phrase(word("yesterday", toy.TIMES))


@pytest.mark.parametrize(
    ("clauses", "english", "german"),
    [
        (
            [clause("the teacher", "open", "a old window", past=True)],
            "The teacher opened an old window.",
            variants(
                "Der Lehrer|Die Lehrerin",
                "öffnete ein altes Fenster.|machte ein altes Fenster auf.|"
                "hat ein altes Fenster geöffnet.|hat ein altes Fenster aufgemacht.",
            ),
        ),
        (
            [clause("we", "help", "the client", negated=True)],
            "We do not help the client.",
            variants("Wir helfen", "dem Kunden|der Kundin", "nicht."),
        ),
        (
            [clause("she", "buy", "a books", "in the garden", negated=True)],
            "She does not buy books in the garden.",
            {"Sie kauft keine Bücher im Garten."},
        ),
        (
            [clause("they", "invite", "my woman", time=YESTERDAY, past=True)],
            "They invited my woman yesterday.",
            {
                "Sie luden gestern meine Frau ein.",
                "Gestern luden sie meine Frau ein.",
                "Sie haben gestern meine Frau eingeladen.",
                "Gestern haben sie meine Frau eingeladen.",
            },
        ),
        (
            [
                clause(
                    "my cats", "look looked at", "this dog", negated=True, link=QUESTION
                )
            ],
            "Do my cats not look at this dog?",
            variants("Sehen|Schauen", "meine Katzen diesen Hund nicht an?"),
        ),
        (
            [clause("he", "see", "the old book", past=True, link=WHY)],
            "Why did he see the old book?",
            {"Warum sah er das alte Buch?", "Warum hat er das alte Buch gesehen?"},
        ),
        (
            [
                clause("he", "sing", None, "without the man"),
                clause("the child", "close", "the door", past=True, link=BECAUSE),
            ],
            "He sings without the man because the child closed the door.",
            variants(
                "Er singt ohne den Mann,",
                "weil|da",
                "das Kind die Tür",
                "schloss.|zumachte.|geschlossen hat.|zugemacht hat.",
            ),
        ),
        (
            [clause("he", "find", "the key", "near the church", past=True)],
            "He found the key near the church.",
            variants("Er fand den Schlüssel", "bei|in der Nähe von", "der Kirche.")
            | {"Er hat den Schlüssel bei der Kirche gefunden."}
            | {"Er hat den Schlüssel in der Nähe von der Kirche gefunden."},
        ),
        (
            [clause("a old man", "write", "the letter", "near the house")],
            "An old man writes the letter near the house.",
            variants(
                "Ein alter Mann schreibt den Brief", "beim|in der Nähe vom", "Haus."
            ),
        ),
    ],
)
def test_all_right_translations_and_no_others(clauses, english, german):
    assert toy.written(clauses, toy.english_clause) == english
    assert all_german(*clauses) == german


def write(folder, *flags):
    toy.main(
        [f"--output_dir={folder}", "--train_pairs=301", "--other_pairs=50", *flags]
    )
    return {path.name: path.read_text("utf-8") for path in folder.iterdir()}


def test_files(tmp_path):
    texts = write(tmp_path / "a")
    lines = {name: text.splitlines() for name, text in texts.items()}
    sizes = {name: len(side) for name, side in lines.items()}
    assert sizes == {
        f"{split}.{language}": size
        for split, size in (("train", 301), ("dev", 50), ("test", 50))
        for language in ("en", "de")
    }
    splits = [set(lines[f"{split}.en"]) for split in ("train", "dev", "test")]
    assert not any(one & other for one, other in itertools.combinations(splits, 2))
    assert len(splits[1]) == 50
    targets = collections.defaultdict(set)
    for source, target in zip(lines["train.en"], lines["train.de"], strict=True):
        targets[source].add(target)
    assert len(targets) == 151
    assert sum(len(found) == 2 for found in targets.values()) > 75


def test_the_seed_decides(tmp_path):
    first = write(tmp_path / "first")
    assert write(tmp_path / "again") == first
    assert write(tmp_path / "other", "--seed=2")["test.en"] != first["test.en"]
