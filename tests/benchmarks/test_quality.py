"""benchmarks/quality.py measures nothing twice."""

import json

import pytest

from tests.commands import run_command
from tests.tiny_models import WORDS, model_dir


def _run(folder, settings, fails=False):
    test = f"--test=tiny=files:{folder}/a.en,{folder}/a.de"
    flags = [f"--{role}_dir={model_dir(role)}" for role in ("teacher", "student")]
    flags += [f"--settings={settings}", "--length_beams=2", "--num_resamples=10"]
    flags += [f"--output={folder}/quality.json"]
    result = run_command("benchmarks/quality.py", test, *flags)
    assert bool(result.returncode) == fails, result.stderr
    return result


def test_a_second_run_measures_what_is_new(tmp_path):
    for name, first in (("a.en", 0), ("a.de", 20)):
        lines = (" ".join(WORDS[first + i : first + i + 4]) for i in range(4))
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    first = _run(tmp_path, "fixed_k:2")
    assert first.stderr.count("measured in ") == 3
    rows = json.loads((tmp_path / "quality.json").read_text("utf-8"))["rows"]
    second = _run(tmp_path, "fixed_k:2,fixed_k:3")
    assert second.stderr.count("measured in ") == 1
    more = json.loads((tmp_path / "quality.json").read_text("utf-8"))["rows"]
    assert more[:3] == rows and more[3]["row"]["setting"] == "K=3, b=2"
    assert [row["test"] for row in more] == ["tiny"] * 4
    assert "| fixed_k | K=3, b=2 |" in second.stdout


def test_a_test_set_without_a_name_is_told_at_once():
    for test in ("files:a.en,a.de", "tsv:a?source=1", "=files:a.en,a.de", "a=", "a"):
        result = run_command(
            "benchmarks/quality.py", f"--test={test}", "--output=/dev/null"
        )
        (line,) = result.stderr.splitlines()[-1:]
        assert line.startswith(f"error: flag --test=['{test}']"), line
        assert "must be NAME=CORPUS" in line


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--output=q.json"], "--teacher_dir or --student_dir is needed"),
        (["--output=a.de"], "a.de: named for --output and for the target of --test=a"),
        (
            ["--output=q.points"],
            "q.points: named for the measured lines and for --outp",
        ),
        (["--output=a.en/q.json"], "--output: a.en/q.json: "),
    ],
)
def test_what_cannot_be_written_is_told_at_once(tmp_path, flags, told):
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("x\n")
    test = "--test=a=files:a.en,a.de"
    result = run_command("benchmarks/quality.py", test, *flags, cwd=tmp_path)
    assert result.stderr.splitlines()[-1].startswith(f"error: {told}")
    assert result.returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.de", "a.en"]
    assert (tmp_path / "a.de").read_text() == "x\n"


def test_a_wrong_setting_is_told_at_once(tmp_path):
    for setting in ("x", "comb_thresh:2", "comb_thresh:@x", "nosuch:@2", "fixed_k:@0"):
        (line,) = _run(tmp_path, setting, fails=True).stderr.splitlines()[-1:]
        assert line.startswith(f"error: flag --settings=['{setting}']"), line
