"""Tests of cmlm-evaluate, run as a user runs it."""

import gzip
import json

import pytest

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.bleu import has_moses
from cmlm_tf.evaluation.report import evaluate_files
from tests.commands import run_command

_REFERENCES = "Der Hund schläft heute.\nDas E-Mail-Programm ist gut.\n"
_HYPOTHESES = "Der Hund schläft heute.\nDas E-Mail-Programm ist neu.\n"
_DECODED = [
    {"text": "Der Hund schläft\nheute.", "num_tokens": 6, "iterations": 3},
    {"text": "Das E-Mail-Programm ist neu.", "num_tokens": 2, "iterations": 1},
]


def _record(number):
    """A line of the decoder's JSON."""
    counts = {"selected_iterations": 1, "summed_iterations": 4}
    return json.dumps(_DECODED[number] | counts) + "\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "out.de").write_text(_HYPOTHESES, encoding="utf-8")
    (tmp_path / "ref.de").write_text(_REFERENCES, encoding="utf-8")
    (tmp_path / "out.jsonl").write_text(_record(0) + _record(1))
    return tmp_path


def _evaluate(folder, **flags):
    flags = {"hypotheses": "out.de", "references": "ref.de"} | flags
    arguments = [f"--{name}={value}" for name, value in flags.items()]
    return run_command("bin/evaluate.py", *arguments, cwd=folder)


def _check_error(result, line):
    assert result.stderr == f"error: {line}\n"
    assert result.returncode == 1
    assert result.stdout == ""


def test_prints_and_writes_all_scores(folder):
    result = _evaluate(folder, decoded="out.jsonl", json="scores.json")
    assert result.returncode == 0, result.stderr
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert scores["num_sentences"] == 2
    assert 0 < scores["bleu"]["value"] < 100
    assert scores["bleu"]["confidence"] > 0
    assert "tok:13a" in scores["bleu"]["signature"]
    assert 0 < scores["chrf"]["value"] < 100
    assert (scores["tokenized_bleu"] is not None) == has_moses()
    speed = {"slowest": 2.0, "selected": 4.0, "summed": 1.0}
    assert scores["tokens_per_iteration"] == speed
    assert f"{scores['bleu']['value']:.2f} ±" in result.stdout
    assert scores["bleu"]["signature"] in result.stdout
    assert "tokens/iteration, slowest   2.00" in result.stdout
    assert "repeated words              0.00 % (references 0.00 %)" in result.stdout


def test_rates_of_faults_and_chinese(folder):
    (folder / "in.en").write_text("The dog\nDas E-Mail-Programm ist neu.\n")
    flags = {"target_language": "zh", "num_resamples": 0, "json": "scores.json"}
    result = _evaluate(folder, sources="in.en", **flags)
    assert "copies of the source        50.00 % (references 0.00 %)" in result.stdout
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert scores["faults"]["copied"] == 0.5
    assert "tok:zh" in result.stdout
    assert "tokenised" not in result.stdout and "±" not in result.stdout


def test_crlf_and_gzip_are_the_same_text(folder):
    (folder / "ref.de.gz").write_bytes(gzip.compress(_REFERENCES.encode()))
    (folder / "crlf.de").write_bytes(_HYPOTHESES.replace("\n", "\r\n").encode())
    plain = _evaluate(folder).stdout
    other = _evaluate(folder, hypotheses="crlf.de", references="ref.de.gz").stdout
    assert plain and other == plain


@pytest.mark.parametrize(
    ("file", "content", "flags", "fault"),
    [
        (
            *("short.de", "Der Hund\n", {"hypotheses": "short.de"}),
            "files of different lengths: short.de has 1 lines, ref.de has 2",
        ),
        (
            *("short.en", "The dog\n", {"sources": "short.en"}),
            "files of different lengths: short.en has 1 lines, ref.de has 2",
        ),
        (
            *("short.jsonl", _record(0), {"decoded": "short.jsonl"}),
            "files of different lengths: short.jsonl has 1 lines, ref.de has 2",
        ),
        (
            *("other.jsonl", _record(0) + _record(0), {"decoded": "other.jsonl"}),
            "other.jsonl, line 2: the text is not that of out.de",
        ),
        ("x", "", {"references": "none.de"}, "none.de: No such file or directory"),
        (
            *("empty.de", "", {"hypotheses": "empty.de", "references": "empty.de"}),
            "empty.de: the file is empty",
        ),
        (
            *("latin1.de", b"gut\nschl\xe4ft\n", {"hypotheses": "latin1.de"}),
            "latin1.de, line 2: not valid UTF-8",
        ),
        (
            *("x", "", {"num_resamples": -1}),
            "flag --num_resamples=-1: -1 is not an integer in the range [0, 100000]",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(folder, file, content, flags, fault):
    content = content if isinstance(content, bytes) else content.encode()
    (folder / file).write_bytes(content)
    _check_error(_evaluate(folder, **flags), fault)


_NO_RECORDS = (
    *("", "{", "3", "[1, 2]", "{}", '{"text": "", "num_tokens": 1}', "null"),
    "[" * 100_000,
    *(
        _record(0).replace(": 6", f": {wrong}").strip()
        for wrong in ("9" * 401, "9" * 5001, "-1", "1.5", "true", '"1"')
    ),
)


def test_a_bad_decoded_line_is_named(folder):
    """All in one process: the command's own are told apart by their flags alone."""
    files = [str(folder / name) for name in ("out.de", "ref.de")]
    for line in _NO_RECORDS:
        (folder / "bad.jsonl").write_text(f"{_record(0)}{line}\n")
        with pytest.raises(UserError) as error:
            evaluate_files(*files, "de", f"{folder}/bad.jsonl")
        assert str(error.value) == (
            f"{folder}/bad.jsonl, line 2: no JSON object with text and the whole "
            "numbers num_tokens, iterations, selected_iterations, summed_iterations"
        )
