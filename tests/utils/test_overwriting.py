"""Tests of cmlm_tf.utils.overwriting, and of what writes beside its inputs."""

from pathlib import Path

import pytest

from cmlm_tf.errors import UserError
from cmlm_tf.utils.overwriting import refuse_overwriting
from tests.commands import run_command
from tests.tiny_models import model_dir

TEXT = "a house\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.en").write_text(TEXT)
    Path("soft.en").symlink_to("in.en")
    Path("hard.en").hardlink_to("in.en")
    Path("later").symlink_to("out.de")
    Path("model").symlink_to(model_dir("student"))
    return tmp_path


@pytest.mark.parametrize("name", ["in.en", "./in.en", "soft.en", "hard.en"])
def test_an_input_by_any_path(folder, name):
    for path in (name, folder / name):
        with pytest.raises(UserError, match=f"{name}: named for --page and for --in"):
            refuse_overwriting({"--out": None, "--page": path}, {"--in": "in.en"})


@pytest.mark.parametrize("name", ["out.de", "later", "none/../out.de"])
def test_two_outputs_in_a_file_that_is_not_there(folder, name):
    with pytest.raises(UserError, match=f"{name}: named for --page and for --out"):
        refuse_overwriting({"--out": folder / "out.de", "--page": name}, {})


def test_what_is_read_twice_or_is_no_file(folder):
    inputs = {"--in": "in.en", "--references": "soft.en", "--none": None}
    refuse_overwriting({"--out": "out.de", "--page": "out.html"}, inputs)
    devices = {"--out": "/dev/null", "--page": "/dev/null"}
    refuse_overwriting(devices, {"--in": "/dev/null"})


@pytest.mark.parametrize(
    ("command", "flags", "line"),
    [
        (
            "decode.py",
            ["--input=in.en", "--trace=soft.en"],
            "soft.en: named for --trace and for --input",
        ),
        (
            "decode.py",
            ["--input=model/config.json", "--oracle_references=in.en", "--jsonl=in.en"],
            "in.en: named for --jsonl and for --oracle_references",
        ),
        (
            "decode.py",
            ["--trace=model/calibration.json"],
            "model/calibration.json: named for --trace and for calibration.json of "
            "the model",
        ),
        (
            "evaluate.py",
            ["--hypotheses=in.en", "--references=soft.en", "--json=hard.en"],
            "hard.en: named for --json and for --hypotheses",
        ),
        (
            "train_subword.py",
            ["--corpus=files:in.en,model/config.json", "--output=soft.en"],
            "soft.en: named for --output and for the source of --corpus",
        ),
        (
            "translate_client.py",
            ["--server=localhost:1", "--input=in.en", "--output=soft.en"],
            "soft.en: named for --output and for --input",
        ),
    ],
)
def test_commands(folder, command, flags, line):
    flags = [*flags, "--model_dir=model"] if command == "decode.py" else flags
    result = run_command(f"bin/{command}", *flags, stdin="in.en")
    assert result.stderr.splitlines()[-1] == f"error: {line}"
    assert (result.returncode, result.stdout) == (1, "")
    assert Path("in.en").read_text() == TEXT
    assert len(list(folder.iterdir())) == 5
