"""The trace page: what it shows, whole in itself, and readable for everyone."""

import dataclasses
import itertools
import math
import re

import pytest

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation import trace_page
from cmlm_tf.evaluation.trace_cells import COLORS, SPOKEN
from cmlm_tf.evaluation.trace_page import TracePage, parse_beside
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from tests import tiny_models
from tests.evaluation.html_tree import Node, parse

LINES = ["the small cat sees <b>one</b> dog & two boats", " ", "a house"]
#: Its translation changes on the way, whatever the strategy.
CHANGING = "dog house tree river boat sees finds likes"
SIDES = [
    UnmaskingOptions("mask_predict", 3, length_beam=3),
    UnmaskingOptions("fixed_k", 2, length_beam=3),
]
_LOADING = {"src", "href", "srcset", "data", "action", "poster"}


@pytest.fixture(scope="module")
def translator():
    return tiny_models.translator("student")


@pytest.fixture(scope="module")
def page(translator):
    made = TracePage(translator, SIDES)
    made.add(LINES, None)
    return made.render()


@pytest.fixture(scope="module")
def root(page):
    return parse(page)


def test_nothing_is_loaded_from_anywhere(page, root):
    for tag in ("link", "img", "iframe", "object", "embed"):
        assert not list(root.all(tag))

    def visit(node):
        assert not _LOADING & set(node.attributes)
        for child in node.children:
            if isinstance(child, Node):
                visit(child)

    visit(root)
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|//[a-z]|url\(|@import", page.lower())


def test_every_line_is_there_and_the_first_is_open(root):
    details = list(root.all("details"))
    summaries = [next(d.all("summary")).text() for d in details]
    assert summaries == [LINES[0], "(blank line)", LINES[2]]
    assert ["open" in d.attributes for d in details] == [True, False, False]
    assert [len(list(d.all("table", "passes"))) for d in details] == [2, 0, 2]


def test_the_passes_are_those_of_the_best_candidate(translator, root):
    """Rows, words, states and colours follow from the trace, by the rule."""
    details = list(root.all("details"))[0]
    for side, table in zip(SIDES, details.all("table", "passes"), strict=True):
        options = UnmaskingOptions(
            side.heuristic, side.setting, length_beam=3, trace=True
        )
        best = translator.translate(LINES[:1], options)[0].candidates[0][0]
        rows = list(table.all("tr"))
        assert len(rows) == best.iterations == len(best.passes)
        before = None
        for row, step in zip(rows, best.passes, strict=True):
            cells = list(row.all("td"))
            assert len(cells) == len(best.tokens)
            for i, cell in enumerate(cells):
                _check_cell(cell, i, step, before)
            before = step


def _check_cell(cell, i, step, before):
    (token,) = cell.all("span", "t")
    classes = token.attributes["class"].split()
    was_masked = before is None or before["mask"][i]
    is_changed = before is None or before["token_ids"][i] != step["token_ids"][i]
    assert ("new" in classes) == (was_masked and not step["mask"][i])
    assert ("guess" in classes) == (step["mask"][i] and is_changed)
    assert ("still" in classes) == (step["mask"][i] and not is_changed)
    assert ("same" in classes) == (not was_masked)
    if "same" not in classes:
        probability = math.exp(step["log_probs"][i])
        assert f"p{min(int(10 * probability), 9)}" in classes
        assert abs(float(token.attributes["title"]) - probability) < 1e-3
    assert ("(unmasked)" in token.text()) == ("new" in classes)
    assert ("(still masked" in token.text()) == step["mask"][i]


def test_the_last_row_reads_as_the_translation(translator, root):
    details = next(root.all("details"))
    for side, table in zip(SIDES, details.all("table", "passes"), strict=True):
        text = translator.translate(LINES[:1], side)[0].text
        last = list(table.all("tr"))[-1]
        for hidden in last.all("span", "v"):
            hidden.children.clear()
        words = "".join(
            (" " if "s" in token.attributes["class"].split() else "") + token.text()
            for token in last.all("span", "t")
        )
        words = re.sub("<0x..>", "", words)
        assert words.split() == text.replace("\ufffd", "").split()


def test_length_candidates_stand_in_order_with_their_scores(translator, root):
    details = next(root.all("details"))
    for side, table in zip(SIDES, details.all("table", "candidates"), strict=True):
        candidates = translator.translate(LINES[:1], side)[0].candidates[0]
        rows = [[c.text() for c in r.all("td")] for r in table.all("tr")][1:]
        assert rows[0][0].endswith("(selected)")
        for (length, score, *others), candidate in zip(rows, candidates, strict=True):
            assert int(length.split()[0]) == len(candidate.tokens)
            assert float(score) == pytest.approx(candidate.score, abs=6e-4)
            assert others == [str(candidate.iterations), candidate.text]


def test_all_controls_and_regions_have_names(root):
    assert next(root.all("html")).attributes["lang"] == "en"
    for tag in ("button", "summary", "caption", "th", "label", "title", "h1"):
        assert all(node.text().strip() for node in root.all(tag))
    labelled = [i for label in root.all("label") for i in label.all("input")]
    assert labelled == list(root.all("input"))
    for node in root.all("div"):
        if "role" in node.attributes:
            assert node.attributes["aria-label"]
        if node.attributes.get("class") == "scroll":
            assert node.attributes["tabindex"] == "0"
    assert {s.attributes["lang"] for s in root.all("summary")} == {"en"}
    assert {t.attributes["lang"] for t in root.all("table", "passes")} == {"de"}
    assert all(th.attributes["scope"] in ("row", "col") for th in root.all("th"))


def test_text_stands_out_from_every_colour(page):
    """WCAG 2: a contrast of at least 4.5; and the scale grows ever lighter."""
    rules = re.findall(r"\.p(\d) \{ background: (#\w+); color: (#\w+); \}", page)
    assert [int(level) for level, _, _ in rules] == list(range(len(COLORS)))
    lights = []
    for _, background, color in rules:
        low, high = sorted((_luminance(background), _luminance(color)))
        assert (high + 0.05) / (low + 0.05) >= 4.5
        lights.append(_luminance(background))
    assert lights == sorted(lights)


def _luminance(color):
    digits = color[1:] if len(color) == 7 else "".join(2 * c for c in color[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
    ]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize(
    ("strategy", "state", "told"),
    [
        ("update_masked", "again", "(masked again)"),
        ("update_all", "over", "(rewritten)"),
    ],
)
def test_what_happens_to_unmasked_tokens_is_marked(translator, strategy, state, told):
    options = UnmaskingOptions("mask_predict", 6, strategy, length_beam=1)
    traced = dataclasses.replace(options, trace=True)
    passes = translator.translate([CHANGING], traced)[0].candidates[0][0].passes
    expected = 0
    for before, after in itertools.pairwise(passes):
        for i, was_masked in enumerate(before["mask"]):
            is_masked = after["mask"][i]
            is_other = before["token_ids"][i] != after["token_ids"][i]
            if not was_masked and (is_masked if state == "again" else is_other):
                expected += state == "again" or not is_masked
    made = TracePage(translator, [options])
    made.add([CHANGING], None)
    (table,) = parse(made.render()).all("table", "passes")
    found = list(table.all("span", state))
    assert len(found) == expected > 0
    assert all(told in token.text() for token in found)


def test_the_legend_tells_of_every_state(root):
    (legend,) = (
        n for n in root.all("div") if n.attributes.get("aria-label") == "Legend"
    )
    states = {n.attributes["class"].split()[-1] for n in legend.all("span", "t")}
    assert states == {*SPOKEN, "same"}


def test_lines_in_parts_and_more_lines_than_fit(translator, monkeypatch, caplog):
    monkeypatch.setattr(trace_page, "MOST_SENTENCES", 2)
    made = TracePage(translator, SIDES[:1])
    made.add(["the cat sees " * 20], None)
    made.add(LINES, None)
    page = made.render()
    root = parse(page)
    first, second = root.all("details")
    assert len(list(first.all("table", "passes"))) > 1
    assert "part 2" in first.text()
    assert "2 of 4 sentences" in page


def test_what_stands_beside():
    default, other = UnmaskingOptions(), UnmaskingOptions("mask_predict", 7)
    assert parse_beside(None, default) == [UnmaskingOptions("mask_predict", 5), default]
    assert parse_beside(None, other) == [UnmaskingOptions("comb_thresh", 0.1), other]
    narrow = UnmaskingOptions(length_beam=2)
    assert [side.length_beam for side in parse_beside("thresh:0.2", narrow)] == [2, 2]
    assert parse_beside("none", default) == [default]
    for text, message in (
        ("fixed_k", "beside must be"),
        ("best:3", "heuristic must"),
        ("fixed_k:1.5", "whole number"),
    ):
        with pytest.raises(UserError, match=message):
            parse_beside(text, default)


def test_the_file_is_whole_or_not_there(translator, tmp_path):
    path = tmp_path / "out.html"
    options = SIDES[0]
    with pytest.raises(ZeroDivisionError):
        with trace_page.trace_page(translator, options, "none", path) as watch:
            watch(LINES, None)
            raise ZeroDivisionError
    assert not list(tmp_path.iterdir())
    with trace_page.trace_page(translator, options, "none", path) as watch:
        watch(LINES, None)
    assert "(blank line)" in path.read_text("utf-8")
    with trace_page.trace_page(translator, options, None, None) as watch:
        assert watch is None
    with pytest.raises(UserError, match="needs a student"):
        with trace_page.trace_page(translator, BeamOptions(), None, path):
            raise AssertionError("not reached")
