"""Splits what is longer than a model allows, without losing a word."""

import re
from collections.abc import Callable, Sequence

# Both keep the white space; no blank follows a sentence in Chinese.
_SENTENCE_END = re.compile(r"(?<=[.!?;:]\s)|(?<=[。！？；])")
_WORD_END = re.compile(r"(?<=\s)")

Count = Callable[[Sequence[str]], list[int]]


def split_line(text: str, max_subwords: int, count: Count) -> list[str]:
    """Splits a line into parts of at most `max_subwords` each.

    The line is cut at sentence ends; a sentence that is still too long is cut
    between words, and a word that is too long between characters. Parts are
    then filled up again as far as they fit.

    Args:
        text: the line.
        max_subwords: the most subwords of a part, at least 1.
        count: returns the number of subwords of each string.

    Returns:
        The parts in order, without the white space at the cuts; `[text]` if it
        fits.

    >>> words = lambda texts: [len(text.split()) for text in texts]
    >>> split_line("One two. Three four five. Six.", 4, words)
    ['One two.', 'Three four five. Six.']
    """
    if count([text])[0] <= max_subwords:
        return [text]
    pieces = _pieces(text, max_subwords, count)
    return [part.strip() for part in _fill(pieces, max_subwords, count)]


def _pieces(text: str, max_subwords: int, count: Count) -> list[str]:
    """Cuts where possible at sentence ends, with the white space kept."""
    parts = _split(_SENTENCE_END, text)
    if len(parts) == 1:
        parts = _split(_WORD_END, text)
    if len(parts) == 1:
        if len(text) < 2:
            return [text]
        middle = len(text) // 2
        parts = [text[:middle], text[middle:]]
    pieces: list[str] = []
    for part, size in zip(parts, count(parts), strict=True):
        fits = size <= max_subwords
        pieces += [part] if fits else _pieces(part, max_subwords, count)
    return pieces


def _split(boundary: re.Pattern, text: str) -> list[str]:
    return [part for part in boundary.split(text) if part.strip()] or [text]


def _fill(pieces: list[str], max_subwords: int, count: Count) -> list[str]:
    """Joins neighbours while their subwords, counted apart, fit together."""
    filled: list[str] = []
    room = 0
    for piece, size in zip(pieces, count(pieces), strict=True):
        if filled and size <= room:
            filled[-1] += piece
            room -= size
        else:
            filled.append(piece)
            room = max_subwords - size
    return filled
