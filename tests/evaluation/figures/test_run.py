"""All figures of tiny models by one command, resumed and redrawn."""

import json
import math
import shutil
import time
from unittest import mock

import pytest
from PIL import Image

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures import measure, points, redraw, run, workbench
from cmlm_tf.evaluation.figures.redraw import redraw_all
from cmlm_tf.evaluation.figures.run import FIGURES, measure_figures
from tests.commands import run_command
from tests.evaluation.figures.tiny_run import (
    SETTINGS,
    SMALL,
    measure_tiny,
    result_of,
    write_corpus,
)
from tests.tiny_models import model_dir


def test_a_second_run_loads_and_decodes_nothing(folder):
    before = {p: p.read_bytes() for p in (folder / "out").rglob("*.json")}
    fail = mock.Mock(side_effect=AssertionError("loaded"))
    with (
        mock.patch.object(workbench, "load_translator", fail),
        mock.patch.object(run, "redraw"),
    ):
        measure_tiny(folder, deadline=time.monotonic())
    assert {p: p.read_bytes() for p in before} == before


def test_points_of_earlier_versions_are_found_again(folder, tmp_path):
    """Without resamples: their key is the same, and figures and claims are made."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    for path in (tmp_path / "out" / "points").iterdir():
        content = json.loads(path.read_text("utf-8"))
        for result in [content["result"], *content["result"].get("beams", [])]:
            result.pop("resampled", None)
        del content["origin"]
        path.write_text(json.dumps(content), "utf-8")
    fail = mock.Mock(side_effect=AssertionError("loaded"))
    with (
        mock.patch.object(workbench, "load_translator", fail),
        mock.patch.object(redraw, "draw"),
    ):
        measure_tiny(tmp_path)
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
    with (
        mock.patch.object(workbench, "load_translator", fail),
        mock.patch.object(run, "redraw"),
    ):
        paths = measure_tiny(tmp_path, deadline=time.monotonic())
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
    written = redraw_all(folder)
    assert {*before} | {folder / "findings.md"} < {*written}
    assert all(path.exists() for path in written)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", FIGURES)
def test_a_plot_has_axes_with_units_and_its_label(folder, name):
    with Image.open(folder / "out" / f"{name}.png") as image:
        assert image.width >= 1000 and image.height >= 600
    svg = (folder / "out" / f"{name}.svg").read_text("utf-8")
    assert "en-de, tiny" in svg
    units = ("tokens per iteration", "subwords", "passes", "candidates", "%", "share")
    assert any(unit in svg for unit in units)
    result = result_of(folder, name)
    assert result["figure"] == name and result["lines"] == {"dev": 6, "test": 6}
    table = (folder / "out" / f"{name}.md").read_text("utf-8")
    assert table.count("\n|") == len(result["rows"]) + 2


def test_every_setting_is_in_the_trade_off(folder):
    rows = result_of(folder, "tradeoff")["rows"]
    counts = {system: 0 for system in ("teacher", *SETTINGS)}
    for row in rows:
        counts[row["system"]] += 1
    assert counts == {"teacher": 2} | {k: len(v) for k, v in SETTINGS.items()}


def test_errors_are_those_of_the_rows(folder):
    for name, x, y in (
        ("dev_test", "dev", "test"),
        ("promises", "promised", "measured"),
    ):
        result = result_of(folder, name)
        for system, error in result["errors"].items():
            rows = [row for row in result["rows"] if row["system"] == system]
            found = [abs(row[x] - row[y]) for row in rows]
            assert error["mean"] == pytest.approx(sum(found) / len(found))
            assert error["largest"] == pytest.approx(max(found))
    # dev and test are the same text here.
    assert all(
        row["dev"] == row["test"] for row in result_of(folder, "dev_test")["rows"]
    )
    assert result_of(folder, "promises")["dev_decodings"]["comb_thresh"] >= 2


def test_strategies_begin_with_one_candidate(folder):
    rows = result_of(folder, "strategies")["rows"]
    assert [row["length_beam"] for row in rows] == [1, 2, 3] * 3


def test_what_is_missing_or_unknown_is_named(tmp_path):
    with pytest.raises(UserError, match="best: not among all, tradeoff"):
        measure_figures(["best"], tmp_path, "", "s", "t", "", "")
    with pytest.raises(UserError, match="--figures is empty: name some, or all"):
        measure_figures([], tmp_path, "", "s", "t", "c", "c")
    with pytest.raises(UserError, match="--teacher is needed for tradeoff: a model"):
        measure_figures(["all"], tmp_path, "", "s", "", "", "")
    with pytest.raises(UserError, match="--dev is needed for dev_test: a corpus"):
        measure_figures(["all"], tmp_path, "", "s", "t", "", "c")
    for label in ("a\nb", "a\x07", "\udcff"):
        with pytest.raises(UserError, match="^--label: '.*' must be one line of UTF-8"):
            measure_figures(["all"], tmp_path, label, "s", "t", "c", "c")
    with pytest.raises(UserError, match="--time_budget must be a number"):
        measure_figures(["all"], tmp_path, "", "s", "t", "c", "c", deadline=math.nan)
    with pytest.raises(UserError, match="no figure in it"):
        redraw_all(tmp_path)


def test_only_what_the_figures_need_is_needed(tmp_path):
    write_corpus(tmp_path)
    names = ("length_classifier",)
    measure_tiny(tmp_path, names, teacher_dir="", dev="")
    result = result_of(tmp_path, "length_classifier")
    assert result["lines"] == {"test": 6}
    assert not [field for field in result["origin"] if "teacher" in field]
    # What a figure does not tell may be anything.
    measure_tiny(tmp_path, names)
    assert result_of(tmp_path, "length_classifier")["lines"] == {"dev": 6, "test": 6}


def test_a_run_says_how_many_points_are_kept(folder):
    count = len(list((folder / "out" / "points").iterdir()))
    with (
        mock.patch.object(points.logging, "info") as info,
        mock.patch.object(run, "redraw"),
    ):
        measure_tiny(folder, ["strategies"])
    ((text, *arguments),) = (call.args for call in info.call_args_list)
    assert text % tuple(arguments) == f"{folder}/out/points: {count} points are kept"


def test_speeds_that_a_small_text_does_not_allow_are_left_out(tmp_path):
    """Of one word a line: nothing has 1000 tokens per iteration."""
    write_corpus(tmp_path, words=1)
    fast = {"LENGTHS_SPEED": 1000.0, "PASSES_SPEEDS": (1000.0,)}
    names = ["lengths", "promises", "passes"]
    with (
        mock.patch.dict(SMALL, fast | {"PROMISES": (1.0, 1000.0)}),
        mock.patch.object(measure.logging, "warning") as warning,
    ):
        measure_tiny(tmp_path, names)
    notices = [call.args[0] % call.args[1:] for call in warning.call_args_list]
    for name, split in (("lengths", "test"), ("promises", "dev"), ("passes", "test")):
        result = result_of(tmp_path, name)
        assert all(line.startswith(f"{split}: ") for line in result["left_out"])
        for line in result["left_out"]:
            assert "target_speedup 1" in line and "tokens per iteration" in line
            assert f"{name}: {line}; left out" in notices
        table = (tmp_path / "out" / f"{name}.md").read_text("utf-8")
        assert f"- left out: {result['left_out'][0]}" in table
        assert (tmp_path / "out" / f"{name}.png").exists()
    assert result_of(tmp_path, "lengths")["rows"] == []
    claims = (tmp_path / "out" / "claims.md").read_text("utf-8")
    assert "| not decided | not measured: " in claims
    redraw_all(tmp_path)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("quality", {"bleu": 101.0}),
        ("passes", {"resampled": [[1.0]] * 99}),
        ("iterations", {"lengths": {"x": [1, 1, 1]}}),
        ("iterations", {"lengths": {"3": [0, 1, 1]}}),
        ("beams", {"beams": []}),
        ("quality", {"slowest": 10**400}),
    ],
)
def test_a_wrong_point_is_named(folder, tmp_path, kind, fields):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    for path in (tmp_path / "out" / "points").iterdir():
        content = json.loads(path.read_text("utf-8"))
        if content["key"]["kind"] == kind and content["key"]["split"] == "test":
            content["result"] |= fields
            path.write_text(json.dumps(content), "utf-8")
    (field,) = fields
    with pytest.raises(UserError, match=rf"points/\w+.json: result.{field}"):
        measure_tiny(tmp_path)


def test_the_time_budget_counts_from_the_start_of_the_command(folder, tmp_path):
    """A budget that loading alone uses up: no point is begun."""
    corpus = f"files:{folder}/a.en,{folder}/a.de"
    flags = [f"--output_dir={tmp_path}", f"--dev={corpus}", f"--test={corpus}"]
    flags += [f"--{role}={model_dir(role)}" for role in ("student", "teacher")]
    result = run_command("bin/figures.py", "--time_budget=0.1", *flags)
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("error: time is up after 0 new points")
