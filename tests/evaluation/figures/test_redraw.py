"""Figures drawn anew from their JSON files, which may be damaged."""

import json
import re
from unittest import mock

import pytest
from matplotlib.figure import Figure

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures import draw, measure_model, page, redraw
from cmlm_tf.evaluation.figures.redraw import redraw_all
from cmlm_tf.evaluation.figures.run import FIGURES
from tests.commands import run_command
from tests.evaluation.figures.tiny_run import result_of


def test_the_command_redraws(folder, tmp_path):
    path = tmp_path / "pair" / "dev_test.json"
    path.parent.mkdir()
    path.write_bytes((folder / "out" / path.name).read_bytes())
    page = tmp_path / "docs" / "findings.md"
    result = run_command(
        "bin/figures.py", "--redraw", f"--output_dir={tmp_path}", f"--page={page}"
    )
    assert result.returncode == 0, result.stderr
    written = [path.with_suffix(suffix) for suffix in (".png", ".svg", ".md")]
    written += [path.parent / "claims.md", page]
    assert result.stdout.split() == [str(path) for path in written]
    assert all(path.exists() for path in written)
    text = page.read_text("utf-8")
    assert "| claim | figure | en-de, tiny |" in text
    assert "\n| en-de, tiny | 6 | 6 | 5 |\n" in text
    claim = "| dev and test speed are close (0.3 on average, 0.8 at most) | dev-test |"
    assert f"\n{claim} holds |\n" in text and f"\n{claim} **holds**: error " in text
    links = re.findall(r"\]\((\S+)\)", text)
    assert links == ["../pair/dev_test.png", "../pair/dev_test.md"]


def _copies(folder, tmp_path, *labels):
    """Makes folders 0, 1, ... with a trade-off each."""
    for number, label in enumerate(labels):
        result = result_of(folder, "tradeoff") | {"label": label}
        (tmp_path / str(number)).mkdir()
        path = tmp_path / str(number) / "tradeoff.json"
        path.write_text(json.dumps(result), "utf-8")
    with mock.patch.object(redraw, "redraw"):
        redraw_all(tmp_path)
    table = (tmp_path / "findings.md").read_text("utf-8")
    return table, (tmp_path / "tradeoff_all.svg").read_text("utf-8")


@pytest.mark.parametrize("name", ["lengths.json", "lengths.png", "notes.md"])
def test_the_page_takes_the_place_of_no_other_file(folder, tmp_path, name):
    (tmp_path / "lengths.json").write_bytes(
        (folder / "out" / "lengths.json").read_bytes()
    )
    (tmp_path / "notes.md").write_text("# Notes\n", "utf-8")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(UserError, match=rf"{name}: "):
        redraw_all(tmp_path, tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


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
    result = measure_model.probabilities(bench)
    names = [row["group"] for row in result["rows"]]
    assert names == ["all", "pass 1", "rank 1", "ranks from 17"]
    assert result["loss"] == {"before": 2.0}
    head = {"figure": "probabilities", "label": "", "lines": {"dev": 9}}
    path = tmp_path / "probabilities.json"
    path.write_text(json.dumps(head | result))
    redraw_all(tmp_path)
    notes = path.with_suffix(".md").read_text("utf-8").splitlines()[-3:]
    assert notes == [
        "- lines: dev 9",
        "- temperature: 1, as fitted on dev: probabilities stay as they are",
        "- loss: before 2.00",
    ]


def test_the_teacher_is_within_the_plot(folder):
    """Beam search and greedy search are drawn, and no line is the plot's edge."""
    result = result_of(folder, "tradeoff")
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


@pytest.mark.parametrize("name", FIGURES)
def test_a_damaged_figure_is_named(folder, tmp_path, name):
    """Each field in turn is missing or of another type."""
    result = result_of(folder, name)
    path = tmp_path / f"{name}.json"
    row = result["rows"][-1]
    last = f"rows[{len(result['rows']) - 1}]"
    damaged = {f"{last}.{k}": [{**row, k: None}] for k in row} | {last: [1]}
    damaged = {k: {"rows": result["rows"][:-1] + v} for k, v in damaged.items()}
    damaged |= {k: {k: None} for k in result} | {"rows": {"rows": []}}
    result.pop("left_out", None)
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


def _changed(rows, number, **fields):
    return [*rows[:number], rows[number] | fields, *rows[number:][1:]]


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("tradeoff", {"system": "best"}, "rows[0].system: must be one of "),
        ("tradeoff", {"slowest": 10**400}, "rows[0].slowest: must be a number from"),
        ("tradeoff", {"bleu": 1e300}, "rows[0].bleu: must be a number from 0 to"),
        ("tradeoff", {"setting": "beam 4"}, "rows: teacher, beam 5 is missing"),
        ("tradeoff", {"setting": "\ud800"}, "rows[0].setting: must be one line of"),
        ("strategies", {"length_beam": 2}, "rows: length_beam of update_all must be"),
        ("passes", {"iteration": 10**9}, "rows: iteration of mask_predict at 2 "),
        ("passes", {"target": 3}, "rows: target must be one of two speeds"),
        ("lengths", {"first_length": 10**9 + 1}, "rows[0].first_length: must be a"),
        ("lengths", {"first_length": 3}, "rows[0].first_length: must be a whole"),
        ("dev_test", {"system": "thresh"}, "rows[0].system: must be one of comb_"),
        ("temperature", {"temperature": 0}, "rows[0].temperature: must be a number"),
    ],
)
def test_wrong_values_are_named_before_anything_is_written(
    folder, tmp_path, name, change, fault
):
    for figure in FIGURES:
        result = result_of(folder, figure)
        if figure == name:
            result["rows"] = _changed(result["rows"], 0, **change)
        (tmp_path / f"{figure}.json").write_text(json.dumps(result))
    with pytest.raises(UserError) as error:
        redraw_all(tmp_path)
    assert str(error.value).startswith(f"{tmp_path}/{name}.json: {fault}")
    assert {path.suffix for path in tmp_path.iterdir()} == {".json"}


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("tradeoff", {"figure": "passes"}, "figure: must be one of tradeoff"),
        ("lengths", {"speeds": {}}, "speeds: mask_predict is missing"),
        ("promises", {"errors": {}}, "errors: comb_thresh is missing"),
        ("dev_test", {"label": "a\nb"}, "label: must be one line of UTF-8"),
        ("dev_test", {"label": "other"}, "label is 'other', but 'en-de, tiny' in the"),
        ("dev_test", {"lines": {"dev": 5}}, "lines of dev is 5, but 6 in the other"),
        ("dev_test", {"origin": {"dev_sha256": "0"}}, "dev_sha256 is '0', but "),
    ],
)
def test_wrong_fields_are_named_before_anything_is_written(
    folder, tmp_path, name, change, fault
):
    for figure in FIGURES:
        result = result_of(folder, figure) | (change if figure == name else {})
        (tmp_path / f"{figure}.json").write_text(json.dumps(result))
    with pytest.raises(UserError) as error:
        redraw_all(tmp_path)
    assert str(error.value).startswith(f"{tmp_path}/{name}.json: {fault}")
    assert {path.suffix for path in tmp_path.iterdir()} == {".json"}


def test_rows_of_a_system_that_is_not_there_are_missed(folder, tmp_path):
    for name, field, value in (
        ("tradeoff", "system", "thresh"),
        ("strategies", "system", "update_masked"),
        ("probabilities", "group", "rank 1"),
        ("temperature", "system", "fcomb_thresh"),
    ):
        result = result_of(folder, name)
        result["rows"] = [row for row in result["rows"] if row[field] != value]
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(result))
        with pytest.raises(UserError, match=f"{name}.json: rows: .*{value}"):
            redraw_all(tmp_path)
        path.unlink()


def test_figures_of_earlier_versions_do_not_tell_what_they_are_of(folder, tmp_path):
    for number, figure in enumerate(FIGURES):
        result = result_of(folder, figure)
        for field in ("origin", "length_beam") if number % 2 else ():
            result.pop(field, None)
        (tmp_path / f"{figure}.json").write_text(json.dumps(result))
    with mock.patch.object(redraw, "draw"), mock.patch.object(redraw, "draw_tradeoffs"):
        redraw_all(tmp_path)


@pytest.mark.parametrize(("widest", "shown"), [(10, "5"), (3, "3")])
def test_the_length_beam_of_earlier_versions(widest, shown):
    rows = [{"length_beam": b} for b in range(1, widest + 1)]
    assert page._length_beam({"strategies": {"rows": rows}}) == shown
    assert page._length_beam({"tradeoff": {"rows": []}}) == "unknown"


def test_a_label_reads_as_it_was_given(folder, tmp_path):
    """Signs of Markdown, XML and formulas mean nothing in it."""
    label = "$x_1$ | *a* <b> [c](d) & 5$"
    table, svg = _copies(folder, tmp_path, label)
    row = table.split("| claim | figure | ")[1].splitlines()[0]
    assert row == r"\$x\_1\$ \| \*a\* \<b\> \[c\](d) \& 5\$ |"
    assert "$x_1$ | *a* &lt;b&gt; [c](d) &amp; 5$" in svg
    draw.draw(result_of(folder, "dev_test") | {"label": "$\\bad{$"}, tmp_path / "a.svg")
    assert "$\\bad{$" in (tmp_path / "a.svg").read_text("utf-8")


def test_a_bin_of_few_sentences_does_not_set_the_axis(folder):
    result = result_of(folder, "lengths")
    row = next(row for row in result["rows"] if row["system"] == "fixed_k")
    rows = [
        row | {"first_length": first, "count": count, "mean": mean, "std": 0.5}
        for first, count, mean in ((1, 5, 2.0), (6, 9, 3.0), (101, 4, 80.0))
    ]
    limits = []
    for shown in (rows, rows[2:]):
        figure = Figure()
        draw._lengths(figure, result | {"rows": shown})
        (axes,) = figure.axes
        limits.append((*axes.get_xlim(), axes.get_ylim()[1]))
    assert limits[0][:2] == (0.5, 10.5) and 3.5 < limits[0][2] < 5
    # Where all bins are of few sentences, they are what there is.
    assert limits[1][:2] == (100.5, 105.5) and limits[1][2] > 80


def test_flags_that_do_nothing_are_refused(tmp_path):
    for flags, fault in (
        (["--page=a.md"], "--page needs --redraw"),
        (["--redraw", "--label=a"], "--label does nothing with --redraw"),
    ):
        result = run_command("bin/figures.py", *flags, cwd=tmp_path)
        assert result.returncode == 1
        assert result.stderr.splitlines()[-1] == f"error: {fault}"
