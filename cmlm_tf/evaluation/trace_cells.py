"""The cells of a page of passes: a token, what a pass did to it, its probability."""

import html
import math
import re
import unicodedata

from cmlm_tf.data.subwords import WORD_START

#: The colour map cividis, told apart by colour-blind readers, from low to high.
COLORS = (
    "#00224e", "#123570", "#3b496c", "#575d6d", "#707173",
    "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838",
)  # fmt: skip
_FIRST_LIGHT = 5  # Of COLORS: dark text from here on.

_BYTE = re.compile("<0x([0-7][0-9A-F])>")

#: Control characters as what can be seen in any font.
_VISIBLE = {code: f"<U+{code:04X}>" for code in (*range(0x20), *range(0x7F, 0xA0))}


def visible(text: str) -> str:
    r"""Returns a text as HTML, its control characters as what can be seen.

    >>> visible("<a>\tb")
    '&lt;a&gt;&lt;U+0009&gt;b'
    """
    return html.escape(text.translate(_VISIBLE))


def direction(text: str) -> str:
    """Tells whether a text begins at the left or right, by its first letter.

    >>> direction("- ab"), direction("- \u05d0b"), direction("1")
    ('ltr', 'rtl', 'ltr')
    """
    kinds = map(unicodedata.bidirectional, text)
    first = next((kind for kind in kinds if kind in ("L", "R", "AL")), "L")
    return "ltr" if first == "L" else "rtl"


def state(token_id: int, is_masked: bool, old_id: int, was_masked: bool) -> str:
    """Names what a pass did to a position: the class of its cell.

    >>> state(7, False, 9, True), state(7, False, 9, False)
    ('new', 'over')
    >>> state(7, True, 9, True), state(7, True, 7, True), state(7, True, 7, False)
    ('guess', 'still', 'again')
    >>> state(7, False, 7, False)
    'same'
    """
    is_same = token_id == old_id
    if is_masked and was_masked:
        return "still" if is_same else "guess"
    if is_masked:
        return "again"
    if was_masked:
        return "new"
    return "same" if is_same else "over"


#: What a screen reader says behind a token.
SPOKEN = {
    "new": " (unmasked)",
    "guess": " (still masked, new prediction)",
    "still": " (still masked)",
    "again": " (masked again)",
    "over": " (rewritten)",
}


def cell(piece: str, log_prob: float, state: str) -> str:
    """Returns a position of a pass as HTML.

    Args:
        piece: the subword that stands or is predicted there.
        log_prob: the natural logarithm of its probability.
        state: as the function `state` names it.
    """
    probability = math.exp(log_prob)
    level = min(int(probability * len(COLORS)), len(COLORS) - 1)
    start = " s" if piece.startswith(WORD_START) else ""
    spoken = f'<span class="v">{SPOKEN[state]}</span>' if state in SPOKEN else ""
    # Many cells are unchanged: the shorter, the faster a page opens.
    shade = "" if state == "same" else f' p{level}" title="{probability:.3f}'
    return (
        f'<td><span class="t{start} {state}{shade}">'
        f"{visible(_spelling(piece))}{spoken}</span></td>"
    )


def _spelling(piece: str) -> str:
    """Returns a piece without its mark; a byte that is a letter by itself as such.

    >>> _spelling("<0x58>"), _spelling("<0xC3>")
    ('X', '<0xC3>')
    """
    byte = _BYTE.fullmatch(piece)
    letter = chr(int(byte[1], 16)) if byte else ""
    return letter if letter.isprintable() and letter else piece.removeprefix(WORD_START)


def color_rules() -> str:
    """Returns the style of each colour, class `p0` the lowest probability's."""
    return "\n".join(
        f".p{i} {{ background: {color}; "
        f"color: {'#000' if i >= _FIRST_LIGHT else '#fff'}; }}"
        for i, color in enumerate(COLORS)
    )
