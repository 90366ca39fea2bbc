"""Text on the trace page: whatever it holds, it is shown and is no markup."""

import dataclasses
import re

import pytest

from cmlm_tf.evaluation.trace_page import TracePage
from cmlm_tf.translate.options import UnmaskingOptions
from tests import tiny_models
from tests.evaluation.html_tree import parse


@pytest.fixture(scope="module")
def translator():
    return tiny_models.translator("student")


def render(translator, line="a house"):
    page = TracePage(translator, [UnmaskingOptions("fixed_k", 2, length_beam=3)])
    page.add([line], None)
    return page.render()


def test_languages_from_a_model_directory_bring_no_markup(translator, monkeypatch):
    for name in ("source_language", "target_language"):
        loaded = dataclasses.replace(
            translator.loaded, **{name: '"><script>x</script>'}
        )
        monkeypatch.setattr(translator, "loaded", loaded)
    assert "<script>x" not in render(translator)


def test_control_characters_are_shown_by_their_codes(translator):
    page = render(translator, "a \x1b[31m red\tdog\x7f\x85")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", page)
    summary = next(parse(page).all("summary")).text()
    assert summary == "a <U+001B>[31m red<U+0009>dog<U+007F><U+0085>"


def test_control_characters_of_a_translation(translator, monkeypatch):
    """A model may write one as a byte of its own."""
    for name in ("decode", "pieces"):
        bells = lambda rows: ["\x07"] * len(rows)  # noqa: E731
        monkeypatch.setattr(translator.subwords, name, bells)
    page = render(translator)
    assert "\x07" not in page
    root = parse(page)
    for table in ("passes", "candidates"):
        assert "<U+0007>" in next(root.all("table", table)).text()


@pytest.mark.parametrize(("text", "direction"), [("(a) א", "ltr"), ("(א) a", "rtl")])
def test_direction_of_writing(translator, monkeypatch, text, direction):
    """Columns follow the translation; every sentence follows itself."""
    decode = lambda rows: [text] * len(rows)  # noqa: E731
    monkeypatch.setattr(translator.subwords, "decode", decode)
    root = parse(render(translator))
    (passes,) = root.all("div", "scroll")
    assert passes.attributes["dir"] == direction
    cells = next(root.all("table", "candidates")).all("td")
    sentences = [*root.all("summary"), *(c for c in cells if c.text() == text)]
    assert len(sentences) == 4
    assert {node.attributes.get("dir") for node in sentences} == {"auto"}


def test_bytes_that_are_not_utf8_are_shown_as_question_marks(translator):
    assert "one ? dog" in render(translator, "one \udcff dog")
