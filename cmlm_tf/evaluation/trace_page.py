"""A page that shows how sentences were unmasked, pass by pass.

Kreutzer et al. (2020), section 4.3, the figure of unmasking over iterations: each
pass is a row, and a token's colour is its probability, yellow high, dark blue low.
One HTML file holds all; it needs neither network nor scripts to be read.
"""

import contextlib
import dataclasses
import html
import importlib.resources
import math
import os
import string
from collections.abc import Callable, Iterator, Sequence

from absl import logging

from cmlm_tf.data.text_files import well_formed
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.sweep import describe
from cmlm_tf.evaluation.trace_cells import (
    COLORS,
    cell,
    color_rules,
    direction,
    state,
    visible,
)
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions, parse_setting
from cmlm_tf.translate.results import Candidate, Translation
from cmlm_tf.translate.translator import Translator
from cmlm_tf.utils.files import atomic_write

#: More make a page too long to read.
MOST_SENTENCES = 1000

Watch = Callable[[Sequence[str], Sequence[str] | None], None]


@contextlib.contextmanager
def trace_page(
    translator: Translator,
    options: UnmaskingOptions | BeamOptions,
    beside: str | None,
    path: str | os.PathLike[str] | None,
) -> Iterator[Watch | None]:
    """Yields what adds lines to a page, which is written at the end.

    Args:
        translator: of a student.
        options: how it translates.
        beside: what to show beside; see `parse_beside`.
        path: the file, or None for no page.

    Yields:
        A function of source lines and their references or None; None where there
        is no page.

    Raises:
        UserError: `beside` cannot be read, or the file not be written.
    """
    if path is None:
        yield None
        return
    if not isinstance(options, UnmaskingOptions):
        raise UserError(f"{path}: a page of passes needs a student model")
    page = TracePage(translator, parse_beside(beside, options))
    with atomic_write(path) as temporary:
        yield page.add
        temporary.write_text(page.render(), encoding="utf-8")


class TracePage:
    """Collects traced sentences and renders them."""

    def __init__(self, translator: Translator, sides: Sequence[UnmaskingOptions]):
        """Takes a student's translator and the ways of decoding to show together."""
        self._translator = translator
        self._sides = [dataclasses.replace(side, trace=True) for side in sides]
        self._sentences: list[str] = []
        self._num_lines = 0

    def add(self, lines: Sequence[str], references: Sequence[str] | None) -> None:
        """Decodes lines in every way and adds them; see `Translator.translate`."""
        self._num_lines += len(lines)
        room = MOST_SENTENCES - len(self._sentences)
        lines = lines[:room]
        references = None if references is None else references[:room]
        translations = [
            self._translator.translate(lines, side, references, warn=False)
            for side in self._sides
        ]
        for line, *shown in zip(lines, *translations, strict=True):
            self._sentences.append(self._sentence(well_formed(line), shown))

    def render(self) -> str:
        """Returns the page."""
        count = len(self._sentences)
        if count < self._num_lines:
            logging.warning("the page shows the first %d lines", count)
        noun = "sentence" if count == 1 else "sentences"
        names = " beside ".join(_name(side) for side in self._sides)
        template = importlib.resources.files(__package__) / "trace_page.html"
        return string.Template(template.read_text("utf-8")).substitute(
            title="How the translations were unmasked",
            summary=f"{count} of {self._num_lines} {noun}: {html.escape(names)}.",
            colors=color_rules(),
            scale="".join(
                f'<span class="p{i}">{i / 10:.1f}</span>' for i in range(len(COLORS))
            ),
            sentences="\n".join(self._sentences),
        )

    def _sentence(self, line: str, shown: Sequence[Translation]) -> str:
        """Renders a line, closed but for the first."""
        source = html.escape(self._translator.loaded.source_language)
        sides = "".join(
            f"<section>{self._side(_name(options), translation)}</section>"
            for options, translation in zip(self._sides, shown, strict=True)
        )
        opened = "" if self._sentences else " open"
        text = visible(line) if line.strip() else "(blank line)"
        return (
            f'<details{opened}><summary lang="{source}" dir="auto">{text}</summary>\n'
            f'<div class="sides">{sides}</div></details>'
        )

    def _side(self, name: str, translation: Translation) -> str:
        target = html.escape(self._translator.loaded.target_language)
        parts = []
        for number, candidates in enumerate(translation.candidates, start=1):
            part = f", part {number}" if len(translation.candidates) > 1 else ""
            count = candidates[0].iterations
            noun = "pass" if count == 1 else "passes"
            caption = f"{html.escape(name)}{part}: {count} {noun}"
            parts.append(
                f'<h2>{caption}</h2><div class="scroll" tabindex="0" role="region" '
                f'aria-label="{caption}" dir="{direction(candidates[0].text)}">'
                f'<table class="passes" lang="{target}">'
                f'<caption class="v">{caption}</caption><tbody>'
                f"{''.join(self._rows(candidates[0]))}</tbody></table></div>"
                f"{_candidate_table(candidates, target)}"
            )
        return "".join(parts)

    def _rows(self, candidate: Candidate) -> Iterator[str]:
        """Renders the passes; all was masked before the first."""
        length = len(candidate.tokens)
        ids, mask = [-1] * length, [True] * length
        for number, step in enumerate(candidate.passes, start=1):
            states = map(state, step["token_ids"], step["mask"], ids, mask)
            pieces = self._translator.subwords.pieces(step["token_ids"])
            cells = map(cell, pieces, step["log_probs"], states)
            head = f'<th scope="row" lang="en">pass {number}</th>'
            yield f"<tr>{head}{''.join(cells)}</tr>"
            ids, mask = step["token_ids"], step["mask"]


def parse_beside(text: str | None, options: UnmaskingOptions) -> list[UnmaskingOptions]:
    """Finds what a way of decoding is shown beside.

    >>> [side.heuristic for side in parse_beside(None, UnmaskingOptions())]
    ['mask_predict', 'comb_thresh']
    >>> parse_beside("fixed_k:3", UnmaskingOptions())[0].setting
    3.0

    Args:
        text: `HEURISTIC:SETTING`, `none`, or None for the paper's example:
            mask_predict with T=5, or comb_thresh with tau=0.1 beside that.
        options: how text is translated.

    Returns:
        Two ways of decoding, or one.

    Raises:
        UserError: the text is neither.
    """
    if text == "none":
        return [options]
    if text is None:
        is_same = options.heuristic == "mask_predict"
        text = "comb_thresh:0.1" if is_same else "mask_predict:5"
    try:
        heuristic, setting = parse_setting(text)
    except UserError as error:
        raise UserError(f"beside {error}; or none") from error
    return [dataclasses.replace(options, heuristic=heuristic, setting=setting), options]


def _name(options: UnmaskingOptions) -> str:
    return " ".join(describe(options))


def _candidate_table(candidates: Sequence[Candidate], language: str) -> str:
    rows = []
    for number, candidate in enumerate(candidates):
        selected = '<span class="v"> (selected)</span>' if number == 0 else ""
        score = "dropped" if candidate.score == -math.inf else f"{candidate.score:.3f}"
        style = ' class="selected"' if number == 0 else ""
        rows.append(
            f"<tr{style}><td>{len(candidate.tokens)}{selected}</td><td>{score}</td>"
            f'<td>{candidate.iterations}</td><td lang="{language}" dir="auto">'
            f"{visible(candidate.text)}</td></tr>"
        )
    heads = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("length", "score", "passes", "translation")
    )
    return (
        '<table class="candidates"><caption>length candidates, best first; the score '
        "is the mean log-probability</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
