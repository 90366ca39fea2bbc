"""Benchmarks tell a wrong flag in one line, before they measure anything."""

from pathlib import Path

import pytest

from tests.commands import run_command

_CONFIG = f"--config={Path(__file__).parents[2]}/configs/multi30k.py:teacher"
_OPTIMIZATIONS = ["--student_dir=a", "--output=o.json"]


@pytest.mark.parametrize(
    ("command", "flags", "told"),
    [
        ("products", ["--positions=abc"], "--positions"),
        ("products", ["--positions=32,0"], "--positions"),
        ("products", ["--rounds=0"], "--rounds"),
        ("optimizations", [*_OPTIMIZATIONS, "--setting=fixed_k"], "--setting"),
        ("optimizations", [*_OPTIMIZATIONS, "--lengths=9,3"], "--lengths"),
        ("products", [f"--output={__file__}/a.json"], "--output"),
        (
            "quality",
            ["--output=q.json", "--test=a=files:b,c", "--test=a=files:d,e"],
            "--test",
        ),
        ("training", [_CONFIG, "--vocab_size=300"], "--vocab_size"),
        ("training", [_CONFIG, "--updates=0"], "--updates"),
        ("training", [_CONFIG, "--mean_length=0"], "--mean_length"),
        ("training", [_CONFIG, f"--output={__file__}/a.json"], "--output"),
        ("training", [_CONFIG, "--config.data.row_lengths=(0,)"], "data.row_lengths"),
    ],
)
def test_a_wrong_flag(command, flags, told):
    result = run_command(f"benchmarks/{command}.py", *flags)
    assert result.returncode == 1
    assert result.stdout == ""
    line = result.stderr.splitlines()[-1]
    assert line.startswith("error: ") and told in line, line
