"""All figures of tiny models by one command, resumed and redrawn."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest
from matplotlib.figure import Figure
from PIL import Image

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures import draw, measure, redraw, run, workbench
from cmlm_tf.evaluation.figures.redraw import redraw_all
from cmlm_tf.evaluation.figures.run import FIGURES, measure_figures
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
        _measure(folder, deadline=time.monotonic())
    assert not list((folder / "out").rglob("*.json"))
    paths = _measure(folder)
    assert [path.stem for path in paths] == list(FIGURES)
    return folder


def _result(folder, name):
    return json.loads((folder / "out" / f"{name}.json").read_text("utf-8"))


def test_a_second_run_loads_and_decodes_nothing(folder):
    before = {p: p.read_bytes() for p in (folder / "out").rglob("*.json")}
    fail = mock.Mock(side_effect=AssertionError("loaded"))
    with (
        mock.patch.object(workbench, "load_translator", fail),
        mock.patch.object(run, "redraw"),
    ):
        _measure(folder, deadline=time.monotonic())
    assert {p: p.read_bytes() for p in before} == before


def test_points_of_earlier_versions_are_found_again(folder, tmp_path):
    """Without resamples: their key is the same, and figures and claims are made."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    for path in (tmp_path / "out" / "points").iterdir():
        content = json.loads(path.read_text("utf-8"))
        for result in [content["result"], *content["result"].get("beams", [])]:
            result.pop("resampled", None)
        path.write_text(json.dumps(content), "utf-8")
    fail = mock.Mock(side_effect=AssertionError("loaded"))
    with mock.patch.object(workbench, "load_translator", fail):
        _measure(tmp_path)
    for path in (folder / "out").glob("*.md"):
        new = (tmp_path / "out" / path.name).read_text("utf-8")
        if path.name == "claims.md":
            assert [line.split("|")[1] for line in new.splitlines()] == [
                line.split("|")[1] for line in path.read_text("utf-8").splitlines()
            ]
        else:
            assert new == path.read_text("utf-8")


def test_points_of_several_folders_are_put_together_by_copying(folder, tmp_path):
    """Three processes with some figures each, then all figures from their points."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    points = tmp_path / "out" / "points"
    parts = [tmp_path / str(number) / "points" for number in range(3)]
    for number, path in enumerate(sorted(points.iterdir())):
        part = parts[number % 3]
        part.mkdir(parents=True, exist_ok=True)
        path.rename(part / path.name)
    shutil.rmtree(tmp_path / "out")
    points.mkdir(parents=True)
    for part in parts:
        for path in part.iterdir():
            shutil.copy(path, points)
    fail = mock.Mock(side_effect=AssertionError("loaded"))
    with mock.patch.object(workbench, "load_translator", fail):
        paths = _measure(tmp_path, deadline=time.monotonic())
    for path in [*paths, tmp_path / "out" / "claims.md"]:
        assert path.read_bytes() == (folder / "out" / path.name).read_bytes()


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
    page = tmp_path / "docs" / "findings.md"
    result = subprocess.run(
        [sys.executable, str(_ROOT / "bin" / "figures.py"), "--redraw"]
        + [f"--output_dir={tmp_path}", f"--page={page}"],
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        encoding="utf-8",
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [str(path)]
    assert path.with_suffix(".png").exists() and path.with_suffix(".md").exists()
    text = page.read_text("utf-8")
    assert "| claim | figure | en-de, tiny |" in text
    links = re.findall(r"\]\((\S+)\)", text)
    assert links == ["../pair/dev_test.png", "../pair/dev_test.md"]


def _copies(folder, tmp_path, *labels):
    """Makes folders 0, 1, ... with a trade-off each."""
    for number, label in enumerate(labels):
        result = _result(folder, "tradeoff") | {"label": label}
        (tmp_path / str(number)).mkdir()
        path = tmp_path / str(number) / "tradeoff.json"
        path.write_text(json.dumps(result), "utf-8")
    with mock.patch.object(redraw, "redraw"):
        redraw_all(tmp_path)
    table = (tmp_path / "findings.md").read_text("utf-8")
    return table, (tmp_path / "tradeoff_all.svg").read_text("utf-8")


def test_models_are_drawn_side_by_side(folder, tmp_path):
    table, svg = _copies(folder, tmp_path, "first pair", "second pair")
    assert "first pair" in svg and "second pair" in svg
    assert svg.count("quality (SacreBLEU)") == 2
    assert "\n| claim | figure | first pair | second pair |\n" in table
    assert "](0/tradeoff.png)" in table and "](1/tradeoff.png)" in table


def test_models_of_one_label_are_told_apart_by_their_folders(folder, tmp_path):
    table, svg = _copies(folder, tmp_path, "pair", "pair", "other")
    assert "\n| claim | figure | pair (0) | pair (1) | other |\n" in table
    assert "pair (0)" in svg and "pair (1)" in svg


def test_a_temperature_of_1_is_said_once(tmp_path):
    group = {"count": 9, "confidence": 0.5, "accuracy": 0.5, "ece": 0.1}
    group |= {"bins": [[9, 0.5, 0.5]]}
    summary = {"temperature": 1.0, "loss": 2.0, "all": group, "by_iteration": [group]}
    summary["by_rank"] = [group | {"first_rank": rank} for rank in (1, 17)]
    bench = mock.Mock()
    bench.point.return_value = {"before": summary, "after": summary}
    result = run.measure_model.probabilities(bench)
    names = [row["group"] for row in result["rows"]]
    assert names == ["all", "pass 1", "rank 1", "ranks from 17"]
    assert result["loss"] == {"before": 2.0}
    head = {"figure": "probabilities", "label": "", "lines": {"dev": 9}}
    path = tmp_path / "probabilities.json"
    path.write_text(json.dumps(head | result))
    redraw.redraw(path)
    notes = path.with_suffix(".md").read_text("utf-8").splitlines()[-3:]
    assert notes == [
        "- lines: dev 9",
        "- temperature: 1, as fitted on dev: probabilities stay as they are",
        "- loss: before 2.00",
    ]


def test_the_teacher_is_within_the_plot(folder):
    """Beam search and greedy search are drawn, and no line is the plot's edge."""
    result = _result(folder, "tradeoff")
    axes = Figure().add_subplot()
    draw._draw_tradeoff(axes, result)
    lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    for setting, bleu in (("beam 5", 30.0), ("greedy", 20.0)):
        row = next(row for row in result["rows"] if row["setting"] == setting)
        assert set(lines[f"teacher, {setting}"]) == {row["bleu"]}
        row["bleu"] = bleu
    axes = Figure().add_subplot()
    draw._draw_tradeoff(axes, result)
    assert 30.0 < axes.get_ylim()[1] < 32.0


def test_what_is_missing_or_unknown_is_named(tmp_path):
    with pytest.raises(UserError, match="best: not among all, tradeoff"):
        measure_figures(["best"], tmp_path, "", "s", "t", "", "")
    with pytest.raises(UserError, match="--teacher is needed"):
        measure_figures(["all"], tmp_path, "", "s", "", "", "")
    with pytest.raises(UserError, match="--dev is needed"):
        measure_figures(["all"], tmp_path, "", "s", "t", "", "c")
    with pytest.raises(UserError, match="--time_budget must be a number"):
        measure_figures(["all"], tmp_path, "", "s", "t", "c", "c", deadline=math.nan)
    with pytest.raises(UserError, match="no figure in it"):
        redraw_all(tmp_path)


@pytest.mark.parametrize("name", FIGURES)
def test_a_damaged_figure_is_named(folder, tmp_path, name):
    """Each field in turn is missing or of another type."""
    result = _result(folder, name)
    path = tmp_path / f"{name}.json"
    row = result["rows"][-1]
    last = f"rows[{len(result['rows']) - 1}]"
    damaged = {f"{last}.{k}": [{**row, k: None}] for k in row} | {last: [1]}
    damaged = {k: {"rows": result["rows"][:-1] + v} for k, v in damaged.items()}
    damaged |= {k: {k: None} for k in result if k != "figure"} | {"rows": {"rows": []}}
    for field, change in damaged.items():
        path.write_text(json.dumps(result | change))
        with pytest.raises(UserError) as error:
            redraw_all(tmp_path)
        assert str(error.value).startswith(f"{path}: {field}: must be")
    del row[next(iter(row))]
    path.write_text(json.dumps(result))
    with pytest.raises(UserError, match="is missing"):
        redraw_all(tmp_path)
    for text in ("{", "[]"):
        path.write_text(text)
        with pytest.raises(UserError, match=f"{path}: "):
            redraw_all(tmp_path)


def test_the_time_budget_counts_from_the_start_of_the_command(folder, tmp_path):
    """A budget that loading alone uses up: no point is begun."""
    corpus = f"files:{folder}/a.en,{folder}/a.de"
    result = subprocess.run(
        [sys.executable, str(_ROOT / "bin" / "figures.py"), "--time_budget=0.1"]
        + [f"--output_dir={tmp_path}", f"--dev={corpus}", f"--test={corpus}"]
        + [f"--{role}={model_dir(role)}" for role in ("student", "teacher")],
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        encoding="utf-8",
    )
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("error: time is up after 0 new points")
