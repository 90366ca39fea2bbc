"""Tests of bin/evaluate.py, run as a user runs it."""

import gzip
import json

import pytest

from cmlm_tf.evaluation.bleu import has_moses
from tests.commands import run_command

_REFERENCES = "Der Hund schläft heute.\nDas E-Mail-Programm ist gut.\n"
_HYPOTHESES = "Der Hund schläft heute.\nDas E-Mail-Programm ist neu.\n"
_DECODED = [
    {"text": "Der Hund schläft\nheute.", "num_tokens": 6, "iterations": 3},
    {"text": "Das E-Mail-Programm ist neu.", "num_tokens": 2, "iterations": 1},
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "out.de").write_text(_HYPOTHESES, encoding="utf-8")
    (tmp_path / "ref.de").write_text(_REFERENCES, encoding="utf-8")
    lines = (
        json.dumps({**line, "selected_iterations": 1, "summed_iterations": 4})
        for line in _DECODED
    )
    (tmp_path / "out.jsonl").write_text("\n".join(lines) + "\n")
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
    assert scores["tokens_per_iteration"] == {
        "slowest": 2.0,
        "selected": 4.0,
        "summed": 1.0,
    }
    assert f"{scores['bleu']['value']:.2f} ±" in result.stdout
    assert scores["bleu"]["signature"] in result.stdout
    assert "tokens/iteration, slowest   2.00" in result.stdout


def test_rates_of_faults(folder):
    (folder / "in.en").write_text("The dog\nDas E-Mail-Programm ist neu.\n")
    result = _evaluate(folder, sources="in.en", json="scores.json")
    assert "repeated words              0.00 % (references 0.00 %)" in result.stdout
    assert "copies of the source        50.00 % (references 0.00 %)" in result.stdout
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert scores["faults"]["copied"] == 0.5
    (folder / "in.en").write_text("The dog\n")
    _check_error(
        _evaluate(folder, sources="in.en"),
        "files of different lengths: in.en has 1 lines, ref.de has 2",
    )


def test_chinese(folder):
    result = _evaluate(folder, target_language="zh", num_resamples=0)
    assert "tok:zh" in result.stdout
    assert "tokenised" not in result.stdout and "±" not in result.stdout


def test_crlf_and_gzip_are_the_same_text(folder):
    (folder / "ref.de.gz").write_bytes(gzip.compress(_REFERENCES.encode()))
    (folder / "crlf.de").write_bytes(_HYPOTHESES.replace("\n", "\r\n").encode())
    plain = _evaluate(folder).stdout
    assert plain
    assert (
        _evaluate(folder, hypotheses="crlf.de", references="ref.de.gz").stdout == plain
    )


def test_different_lengths(folder):
    (folder / "short.de").write_text("Der Hund\n")
    _check_error(
        _evaluate(folder, hypotheses="short.de"),
        "files of different lengths: short.de has 1 lines, ref.de has 2",
    )


def test_decoded_of_another_length(folder):
    line = (folder / "out.jsonl").read_text().splitlines()[0]
    (folder / "short.jsonl").write_text(line + "\n")
    _check_error(
        _evaluate(folder, decoded="short.jsonl"),
        "files of different lengths: short.jsonl has 1 lines, ref.de has 2",
    )


def test_decoded_of_another_output(folder):
    text = (folder / "out.jsonl").read_text().replace("neu", "gut")
    (folder / "other.jsonl").write_text(text)
    _check_error(
        _evaluate(folder, decoded="other.jsonl"),
        "other.jsonl, line 2: the text is not that of out.de",
    )


def test_missing_file(folder):
    _check_error(
        _evaluate(folder, references="none.de"), "none.de: No such file or directory"
    )


def test_empty_file(folder):
    (folder / "empty.de").write_text("")
    _check_error(
        _evaluate(folder, hypotheses="empty.de", references="empty.de"),
        "empty.de: the file is empty",
    )


def test_invalid_utf8_names_file_and_line(folder):
    (folder / "latin1.de").write_bytes("gut\nschläft\n".encode("latin-1"))
    _check_error(
        _evaluate(folder, hypotheses="latin1.de"), "latin1.de, line 2: not valid UTF-8"
    )


_NO_RECORDS = (
    *("", "{", "3", "[1, 2]", "{}", '{"text": "", "num_tokens": 1}', "null"),
    "[" * 100_000,
    *(
        f'{{"text": "", "num_tokens": {"9" * digits}, "iterations": 1, '
        '"selected_iterations": 1, "summed_iterations": 1}'
        for digits in (401, 5001)
    ),
)


@pytest.mark.parametrize("line", _NO_RECORDS, ids=range(len(_NO_RECORDS)))
def test_bad_decoded_line_is_named(folder, line):
    good = (folder / "out.jsonl").read_text().splitlines()[0]
    (folder / "bad.jsonl").write_text(f"{good}\n{line}\n")
    _check_error(
        _evaluate(folder, decoded="bad.jsonl"),
        "bad.jsonl, line 2: no JSON object with text and the whole numbers "
        "num_tokens, iterations, selected_iterations, summed_iterations",
    )


def test_negative_or_fractional_counts(folder):
    for wrong in ("-1", "1.5", "true", '"1"'):
        text = (folder / "out.jsonl").read_text().replace(": 6", f": {wrong}")
        (folder / "bad.jsonl").write_text(text)
        result = _evaluate(folder, decoded="bad.jsonl")
        assert result.stderr.startswith("error: bad.jsonl, line 1: ")


def test_flags_are_checked(folder):
    result = _evaluate(folder, num_resamples=-1)
    _check_error(
        result, "flag --num_resamples=-1: -1 is not an integer in the range [0, 100000]"
    )
    assert _evaluate(folder, help="true").returncode == 0
