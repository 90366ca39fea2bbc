"""What the documents say to type runs, or is at least a command with such flags.

Blocks of bash and Python run in the order in which they stand, in a folder with small
files of the names that the documents use. Before a block that cannot run here stands
`<!-- not run: WHY -->`; of such a block commands, flags and imports are checked.
"""

import ast
import csv
import importlib
import json
import re
import runpy
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.pretrained import EN_DE_STUDENT, EN_DE_TEACHER, EN_DE_TEST
from tests.docs.shell import ONLY_FLAGS, ROOT, shell

_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>[^>]+) -->\n)?"
    r"(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S,
)
#: What is typed elsewhere, as a whole, or is made from the commands' flags.
_ELSEWHERE = {"walkthrough.md", "commands.md"}
#: Where nothing is run: it needs a server, a training or hours.
_NOT_RUN = {"serving.md", "training.md", "figures.md"}
_DOCUMENTS = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if path.name not in _ELSEWHERE
]

#: Parts of messages that are not this package's, or that it puts together.
_OF_OTHER_LIBRARIES = {
    "DEADLINE_EXCEEDED",
    "Expects arg[",
    "Missing named input",
    "No space left on device",
    "NotFoundError",
    "OutOfRangeError",
    "TF_XLA_FLAGS",
    "] to be",
    "in 'inputs' object",
    "the loss has run away",
    "the loss is not finite",
}


class Block(NamedTuple):
    language: str
    text: str
    line: int
    is_run: bool


def _blocks(document):
    text = document.read_text("utf-8")
    for match in _BLOCK.finditer(text):
        language = match["language"]
        yield Block(
            language,
            match["text"],
            text.count("\n", 0, match.start("text")) + 1,
            language in ("bash", "python")
            and not match["why"]
            and document.name not in _NOT_RUN,
        )


def _commands(text):
    """Yields the words of each command of this package in a block of bash."""
    text = re.sub(r"(?<!\S)#.*", "", text.replace("\\\n", " "))
    words = shlex.shlex(text, posix=True, punctuation_chars="();<>|&\n")
    words.whitespace, words.whitespace_split = " ", True
    command = []
    for word in [*words, "\n"]:
        if command and word[0] in words.punctuation_chars:
            if "..." not in command:
                yield command
            command = []
        elif command or word.startswith("cmlm-") or word == "python":
            command.append(word)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with shell(tmp_path_factory.mktemp("shell")) as run:
        yield run


def _make_folder(folder):
    """Writes the files that the documents name, small ones, and two models."""
    with open(EN_DE_TEST, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    for name, lines in (
        ("train", rows[:60]),
        ("dev", rows[60:80]),
        ("test", rows[80:90]),
        ("few", rows[90:92]),
    ):
        for column, language in enumerate(("en", "de"), start=1):
            text = "".join(f"{row[column]}\n" for row in lines)
            (folder / f"{name}.{language}").write_text(text, encoding="utf-8")
    for name, model in (("student", EN_DE_STUDENT), ("teacher", EN_DE_TEACHER)):
        shutil.copytree(model, folder / name / "model")
    (folder / "student" / "model" / "calibration.json").unlink()
    shutil.copy(EN_DE_STUDENT / "subword.model", folder)


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: path.name)
def test_blocks_run(document, run, tmp_path):
    blocks = [block for block in _blocks(document) if block.is_run]
    if not blocks:
        pytest.skip("nothing to run")
    _make_folder(tmp_path)
    script = []
    for block in blocks:
        if block.language == "python":
            (tmp_path / f"line_{block.line}.py").write_text(block.text, "utf-8")
            script.append(f"python line_{block.line}.py")
        else:
            script += [f"echo === line {block.line} >&2", block.text]
    result = run("\n".join(script), tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: path.name)
def test_what_is_not_run_exists(document, run):
    blocks = [block for block in _blocks(document) if not block.is_run]
    faults = []
    for block in blocks:
        if block.language == "python":
            faults += _missing_imports(block.text)
        script = "\n".join(shlex.join(words) for words in _commands(block.text))
        if block.language != "python" and script:
            result = run(script, ROOT, **{ONLY_FLAGS: "1"})
            if result.returncode:
                faults.append(f"line {block.line}: {result.stderr}")
    assert not faults, "\n".join(faults)


def _missing_imports(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("cmlm_tf"):
            module = importlib.import_module(node.module)
            for name in node.names:
                if not hasattr(module, name.name):
                    yield f"{node.module} has no {name.name}"


def test_readme_is_short_and_its_pictures_small():
    text = (ROOT / "README.md").read_text("utf-8")
    assert text.count("\n") <= 150
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert len(pictures) == 2
    for picture in pictures:
        assert Path(ROOT / picture).stat().st_size <= 200_000


def _strings_of_the_package():
    """Yields every string, with a line feed where something is put in."""
    for path in (ROOT / "cmlm_tf").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield re.sub(r"%\.?\d*[sdfg]", "\n", node.value)


def test_messages_are_those_of_the_commands():
    text = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    strings = "\n".join(_strings_of_the_package())
    cells = "".join(re.findall(r"^\| (`.*?) \|", text, re.M))
    messages = "…".join(re.findall("`(.*?)`", cells))
    parts = map(str.strip, re.split("…|: |[(),]|--", messages))
    missing = {part for part in parts if part not in strings}
    assert missing <= _OF_OTHER_LIBRARIES


def test_pictures_show_all_rules_and_all_passes():
    pictures = runpy.run_path(str(ROOT / "docs" / "pictures.py"))
    rows = json.loads(pictures["TRADE_OFF"].read_text("utf-8"))["rows"]
    axes = pictures["draw_trade_off"](rows).axes[0]
    assert len(axes.lines) == len(HEURISTICS) + 2  # The teacher's two.
    passes = [[("a", True), ("b", False)], [("c", False), ("b", False)]]
    axes = pictures["draw_passes"](passes).axes[0]
    words = ["all masked", "", "", "pass 1", "a", "b", "pass 2", "c", "b"]
    assert [text.get_text() for text in axes.texts] == words
