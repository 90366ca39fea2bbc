"""benchmarks/quality.py measures nothing twice."""

import json

from tests.commands import run_command
from tests.tiny_models import WORDS, model_dir


def _run(folder, settings):
    flags = [f"--{role}_dir={model_dir(role)}" for role in ("teacher", "student")]
    flags += [f"--settings={settings}", "--length_beams=2", "--num_resamples=10"]
    flags += ["--test=tiny=files:a.en,a.de", "--output=quality.json"]
    result = run_command("benchmarks/quality.py", *flags, cwd=folder)
    assert result.returncode == 0, result.stderr
    return result, json.loads((folder / "quality.json").read_text("utf-8"))["rows"]


def test_a_second_run_measures_what_is_new(tmp_path):
    for name, start in (("a.en", 0), ("a.de", 20)):
        lines = (" ".join(WORDS[start + i : start + i + 4]) for i in range(4))
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    first, rows = _run(tmp_path, "fixed_k:2")
    assert first.stderr.count("measured in ") == 3
    second, more = _run(tmp_path, "fixed_k:2,fixed_k:3")
    assert second.stderr.count("measured in ") == 1
    assert more[:3] == rows and more[3]["row"]["setting"] == "K=3, b=2"
    assert [row["test"] for row in more] == ["tiny"] * 4
    assert "| fixed_k | K=3, b=2 |" in second.stdout
