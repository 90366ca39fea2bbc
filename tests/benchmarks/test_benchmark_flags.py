"""Benchmarks tell a wrong flag in one line, before they measure or write anything."""

import pytest

from tests.commands import run_command

_CONFIG = "--config=multi30k:teacher"
_OPTIMIZATIONS = ["--student_dir=a", "--output=o.json"]
_TEST = "--test=a=files:a.en,a.de"
_NO_TESTS = ("files:a.en,a.de", "tsv:a?source=1", "=files:a.en,a.de", "a=", "a")
_NO_SETTINGS = ("x", "comb_thresh:2", "comb_thresh:@x", "nosuch:@2", "fixed_k:@0")


@pytest.mark.parametrize(
    ("command", "flags", "told"),
    [
        ("products", ["--positions=abc"], "--positions"),
        ("products", ["--positions=32,0"], "--positions"),
        ("products", ["--rounds=0"], "--rounds"),
        ("products", ["--output=a.en/a.json"], "--output"),
        ("optimizations", [*_OPTIMIZATIONS, "--setting=fixed_k"], "--setting"),
        ("optimizations", [*_OPTIMIZATIONS, "--lengths=9,3"], "--lengths"),
        ("training", [_CONFIG, "--vocab_size=300"], "--vocab_size"),
        ("training", [_CONFIG, "--updates=0"], "--updates"),
        ("training", [_CONFIG, "--mean_length=0"], "--mean_length"),
        ("training", [_CONFIG, "--output=a.en/a.json"], "--output"),
        ("training", [_CONFIG, "--config.data.row_lengths=(0,)"], "data.row_lengths"),
        ("quality", ["--output=q.json", _TEST, "--test=a=files:d,e"], "--test"),
        ("quality", ["--output=q.json", _TEST], "--teacher_dir or --student_dir is ne"),
        ("quality", ["--output=a.de", _TEST], "a.de: named for --output and for the t"),
        ("quality", ["--output=q.points", _TEST], "q.points: named for the measured "),
        ("quality", ["--output=a.en/q.json", _TEST], "--output: a.en/q.json: "),
        *(
            ("quality", ["--output=q.json", f"--test={text}"], f"flag --test=['{text}'")
            for text in _NO_TESTS
        ),
        *(
            (
                *("quality", ["--output=q.json", _TEST, f"--settings={text}"]),
                f"flag --settings=['{text}']",
            )
            for text in _NO_SETTINGS
        ),
    ],
)
def test_a_wrong_flag(tmp_path, command, flags, told):
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("x\n")
    result = run_command(f"benchmarks/{command}.py", *flags, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (1, "")
    line = result.stderr.splitlines()[-1]
    assert line.startswith("error: ") and told in line, line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.de", "a.en"]
    assert (tmp_path / "a.de").read_text() == "x\n"
