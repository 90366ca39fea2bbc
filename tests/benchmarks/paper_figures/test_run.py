"""All figures of tiny models: what is kept, what is drawn, what is told."""

import doctest
import importlib
import shutil

import pytest
from PIL import Image

from benchmarks.paper_figures import measure
from benchmarks.paper_figures.measure import FIGURES
from benchmarks.paper_figures.page import figure_page, redraw_all
from cmlm_tf.decoding.heuristics import Thresh
from cmlm_tf.errors import UserError
from tests.benchmarks.paper_figures.tiny_run import (
    SETTINGS,
    measure_tiny,
    result_of,
    text,
    workbench,
)
from tests.commands import run_command


@pytest.mark.parametrize(
    "name", ["compare", "measure", "page", "points", "reliability"]
)
def test_examples(name):
    module = importlib.import_module(f"benchmarks.paper_figures.{name}")
    assert doctest.testmod(module).failed == 0


def test_an_interrupted_run_continues_and_repeats_nothing(runs):
    """19 decodings were finished; each point is one file of the cache."""
    folder, (first, second, third) = runs
    outputs = list((folder / "cache").rglob("output.pkl"))
    assert (first, third) == (19, 0)
    assert first + second == len(outputs)


@pytest.mark.parametrize("name", FIGURES)
def test_a_plot_has_axes_with_units_and_its_label(folder, name):
    with Image.open(folder / f"{name}.png") as image:
        assert image.width >= 1000 and image.height >= 600
    svg = (folder / f"{name}.svg").read_text("utf-8")
    assert "en-de, tiny" in svg
    if name == "tradeoff":
        assert "teacher, beam 5" in svg and "teacher, greedy" in svg
    units = ("tokens per iteration", "subwords", "passes", "candidates", "%", "share")
    assert any(unit in svg for unit in units)
    result = result_of(folder, name)
    assert result["figure"] == name and result["lines"] == {"dev": 6, "test": 6}
    table = (folder / f"{name}.md").read_text("utf-8")
    assert table.count("\n|") == len(result["rows"]) + 2


def test_all_is_drawn_from_the_results_of_all_models(folder, tmp_path):
    """Two models side by side; plots and tables are those of the run."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for path in folder.glob("*.json"):
            shutil.copy(path, tmp_path / name)
    renamed = tmp_path / "two" / "tradeoff.json"
    renamed.write_text(renamed.read_text("utf-8").replace("en-de, tiny", "a | $b_2$"))
    for path in (tmp_path / "two").glob("[!t]*.json"):
        path.unlink()
    page = tmp_path / "docs" / "findings.md"
    result = run_command(
        "benchmarks/paper_figures", *("--redraw", "--output_dir=.", f"--page={page}"),
        cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    for path in folder.glob("*.*"):
        if path.suffix != ".json":
            assert (tmp_path / "one" / path.name).read_bytes() == path.read_bytes()
    shown = page.read_text("utf-8")
    assert "| claim | figure | en-de, tiny | a \\| \\$b\\_2\\$ |" in shown
    assert "\n| en-de, tiny | 6 | 6 | 5 |\n" in shown
    claim = "| dev and test speed are close (0.3 on average, 0.8 at most) | dev-test |"
    assert f"\n{claim} holds | not measured |\n" in shown
    assert f"\n{claim} **holds**: error 0.00 on average" in shown
    assert "](../one/tradeoff.png)" in shown and "](../two/tradeoff.md)" in shown
    svg = (tmp_path / "tradeoff_all.svg").read_text("utf-8")
    assert "en-de, tiny" in svg and "a | $b_2$" in svg
    assert svg.count("quality (SacreBLEU)") == 2


def test_rows_are_of_all_settings_and_errors_of_the_rows(folder):
    rows = result_of(folder, "tradeoff")["rows"]
    counts = {system: 0 for system in ("teacher", *SETTINGS)}
    for row in rows:
        counts[row["system"]] += 1
    assert counts == {"teacher": 2} | {k: len(v) for k, v in SETTINGS.items()}
    beams = [row["length_beam"] for row in result_of(folder, "strategies")["rows"]]
    assert beams == [1, 2, 3] * 3
    for name, *ends in (
        ("dev_test", "dev", "test"),
        ("promises", "promised", "measured"),
    ):
        result = result_of(folder, name)
        for row in result["rows"]:
            # dev and test are one text, and of six lines no tau is interpolated.
            assert row["error"] == 0.0 == row[ends[0]] - row[ends[1]]


@pytest.mark.parametrize("target", [1.5, 5.0, 9.0])
def test_a_tau_near_a_speed_is_found_in_few_decodings(target):
    """Speed is here a straight line on the axis, other than the first guess."""
    tried = measure.taus_around(lambda tau: 0.8 + 4 * Thresh.place(tau), target)
    assert min(abs(speed - target) for speed in tried.values()) <= 0.2
    assert len(tried) <= 6
    assert list(tried) == sorted(tried, reverse=True)


def test_speeds_that_a_small_text_does_not_allow_are_left_out(tmp_path):
    """Of one word a line: nothing has 1000 tokens per iteration."""
    bench = workbench(tmp_path, text(words=1))
    fast = {"LENGTHS_SPEED": 1000.0, "PASSES_SPEEDS": (1000.0,), "PROMISES": (1000.0,)}
    for path in measure_tiny(
        tmp_path, bench, ["lengths", "promises", "passes"], **fast
    ):
        assert result_of(tmp_path, path.stem)["rows"] == []
        assert path.with_suffix(".png").exists()
    claims = (tmp_path / "claims.md").read_text("utf-8")
    assert claims.count("| not decided | not measured: ") == 4


def test_a_temperature_of_1_is_said_once():
    result = {"label": "", "rows": [], "temperature": 1.0}
    assert "- temperature: 1, as fitted on dev: prob" in figure_page(result)


def test_what_is_missing_is_told(tmp_path):
    for flags, fault in (
        (["--figures=best"], "--figures: best: not among all, tradeoff, strat"),
        ([], "--student is needed for tradeoff"),
        (["--student=s", "--test=t"], "--teacher is needed for tradeoff"),
        (["--student=s", "--teacher=t", "--test=t"], "--dev is needed for dev_test"),
        (["--redraw"], "figures: no figure in it"),
    ):
        result = run_command("benchmarks/paper_figures", *flags, cwd=tmp_path)
        assert result.returncode == 1
        assert result.stderr.splitlines()[-1].startswith(f"error: {fault}")
    with pytest.raises(UserError, match="must end in .md"):
        redraw_all(tmp_path, tmp_path / "lengths.json")
