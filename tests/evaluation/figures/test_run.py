"""All figures of tiny models by one command, resumed and redrawn."""

import json
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from PIL import Image

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures import measure, run, workbench
from cmlm_tf.evaluation.figures.run import FIGURES, measure_figures, redraw_all
from tests.tiny_models import WORDS, model_dir

_ROOT = Path(__file__).parents[3]

#: A random model's probabilities are small.
_SETTINGS = {
    "mask_predict": (8, 4, 2),
    "fixed_k": (1, 2, 4),
    "thresh": (0.1, 0.001),
    "comb_thresh": (0.1, 1e-4, 1e-8),
    "fcomb_thresh": (0.1, 1e-8),
}
_SMALL = {
    "SETTINGS": _SETTINGS,
    "MOST_BEAMS": 3,
    "LENGTHS_SPEED": 1.5,
    "PASSES_SPEEDS": (1.2, 2.0),
    "PROMISES": (1.5, 2.0),
    "STRATEGY_ITERATIONS": 4,
}


def _measure(folder, names=("all",), **kwargs):
    corpus = f"files:{folder}/a.en,{folder}/a.de"
    models = str(model_dir("student")), str(model_dir("teacher"))
    with (
        mock.patch.multiple(measure, **_SMALL),
        mock.patch.object(run.measure_model, "SETTINGS", _SETTINGS),
        mock.patch.object(run.measure_model, "MOST_BEAMS", 3),
    ):
        return measure_figures(
            names, folder / "out", "en-de, tiny", *models, corpus, corpus, **kwargs
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with all figures in `out`; time was up once on the way."""
    folder = tmp_path_factory.mktemp("figures")
    for name, first in (("a.en", 0), ("a.de", 20)):
        lines = (" ".join(WORDS[first + i : first + i + 4]) for i in range(6))
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.raises(UserError, match="time is up after 0 new points"):
        _measure(folder, time_budget=-1.0)
    assert not list((folder / "out").rglob("*.json"))
    paths = _measure(folder)
    assert [path.stem for path in paths] == list(FIGURES)
    return folder


def _result(folder, name):
    return json.loads((folder / "out" / f"{name}.json").read_text("utf-8"))


def test_a_second_run_decodes_nothing(folder):
    before = {p: p.read_bytes() for p in (folder / "out").rglob("*.json")}
    fail = mock.Mock(side_effect=AssertionError("decoded"))
    with (
        mock.patch.object(workbench.Workbench, "_translate", fail),
        mock.patch.object(run, "redraw"),
    ):
        _measure(folder, time_budget=-1.0)
    assert {p: p.read_bytes() for p in before} == before


def test_all_is_drawn_anew_from_the_results(folder):
    plots = [p for p in (folder / "out").iterdir() if p.suffix in (".png", ".svg")]
    tables = list((folder / "out").glob("*.md"))
    assert len(plots) == 2 * len(FIGURES) and len(tables) == len(FIGURES) + 1
    before = {path: path.read_bytes() for path in plots + tables}
    assert "| claim | here |" in before[folder / "out" / "claims.md"].decode()
    for path in before:
        path.unlink()
    assert len(redraw_all(folder)) == len(FIGURES)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", FIGURES)
def test_a_plot_has_axes_with_units_and_its_label(folder, name):
    with Image.open(folder / "out" / f"{name}.png") as image:
        assert image.width >= 1000 and image.height >= 600
    svg = (folder / "out" / f"{name}.svg").read_text("utf-8")
    assert "en-de, tiny" in svg
    units = ("tokens per iteration", "subwords", "passes", "candidates", "%", "share")
    assert any(unit in svg for unit in units)
    result = _result(folder, name)
    assert result["figure"] == name and result["lines"] == {"dev": 6, "test": 6}
    table = (folder / "out" / f"{name}.md").read_text("utf-8")
    assert table.count("\n|") == len(result["rows"]) + 2


def test_every_setting_is_in_the_trade_off(folder):
    rows = _result(folder, "tradeoff")["rows"]
    counts = {system: 0 for system in ("teacher", *_SETTINGS)}
    for row in rows:
        counts[row["system"]] += 1
    assert counts == {"teacher": 2} | {k: len(v) for k, v in _SETTINGS.items()}


def test_errors_are_those_of_the_rows(folder):
    for name, x, y in (
        ("dev_test", "dev", "test"),
        ("promises", "promised", "measured"),
    ):
        result = _result(folder, name)
        for system, error in result["errors"].items():
            rows = [row for row in result["rows"] if row["system"] == system]
            found = [abs(row[x] - row[y]) for row in rows]
            assert error["mean"] == pytest.approx(sum(found) / len(found))
            assert error["largest"] == pytest.approx(max(found))
    # dev and test are the same text here.
    assert all(row["dev"] == row["test"] for row in _result(folder, "dev_test")["rows"])
    assert _result(folder, "promises")["dev_decodings"]["comb_thresh"] >= 2


def test_strategies_begin_with_one_candidate(folder):
    rows = _result(folder, "strategies")["rows"]
    assert [row["length_beam"] for row in rows] == [1, 2, 3] * 3


def test_the_command_redraws(folder, tmp_path):
    path = tmp_path / "pair" / "dev_test.json"
    path.parent.mkdir()
    path.write_bytes((folder / "out" / path.name).read_bytes())
    result = subprocess.run(
        [sys.executable, str(_ROOT / "bin" / "figures.py"), "--redraw"]
        + [f"--output_dir={tmp_path}"],
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        encoding="utf-8",
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [str(path)]
    assert path.with_suffix(".png").exists() and path.with_suffix(".md").exists()
    assert "| claim | en-de, tiny |" in (tmp_path / "findings.md").read_text("utf-8")


def test_models_are_drawn_side_by_side(folder, tmp_path):
    for name in ("first", "second"):
        result = _result(folder, "tradeoff") | {"label": f"{name} pair"}
        (tmp_path / name).mkdir()
        (tmp_path / name / "tradeoff.json").write_text(json.dumps(result), "utf-8")
    with mock.patch.object(run, "redraw"):
        redraw_all(tmp_path)
    svg = (tmp_path / "tradeoff_all.svg").read_text("utf-8")
    assert "first pair" in svg and "second pair" in svg
    assert svg.count("quality (SacreBLEU)") == 2
    table = (tmp_path / "findings.md").read_text("utf-8")
    assert table.startswith("| claim | first pair | second pair |\n")


def test_what_is_missing_or_unknown_is_named(tmp_path):
    with pytest.raises(UserError, match="best: not among all, tradeoff"):
        measure_figures(["best"], tmp_path, "", "s", "t", "", "")
    with pytest.raises(UserError, match="--teacher is needed"):
        measure_figures(["all"], tmp_path, "", "s", "", "", "")
    with pytest.raises(UserError, match="no figure in it"):
        redraw_all(tmp_path)


def test_a_damaged_figure_is_named(tmp_path):
    path = tmp_path / "tradeoff.json"
    for text in ("{", "[]", '{"figure": "tradeoff", "label": "", "rows": []}'):
        path.write_text(text)
        with pytest.raises(UserError, match=f"{path}: not a figure"):
            redraw_all(tmp_path)
