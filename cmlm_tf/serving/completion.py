"""Targets with gaps: given words stay, `<mask>` is where words are missing.

A text with g gaps is its g + 1 given segments, some perhaps empty. Every gap gets
at least one subword; what a length candidate has beside the given subwords is
shared out evenly, the first gaps get what is left over.
"""

from typing import NamedTuple

import tensorflow as tf

from cmlm_tf.errors import UserError
from cmlm_tf.serving.checks import after, require
from cmlm_tf.serving.text import BLANK, ServedSubwords, check_utf8
from cmlm_tf.special_ids import MASK_ID, MASK_PIECE, PAD_ID

#: Put in front of a segment that follows a gap, so that it is split as inside a
#: text and not as at its start, and of what fills a gap, so that it is joined so. No
#: model has a piece with this character: it is split into a word's start and four
#: bytes, which are then cut off.
_MARK = "\U0010fffd"
_MARK_LENGTH = 5


class Gaps(NamedTuple):
    """Partly given targets.

    Attributes:
        segments: string `[batch, (segments)]`, the given text around the gaps.
        given: int32 `[batch, (subwords)]`, ids of the given text.
        ends: int32 `[batch, segments]`, the given subwords up to a segment's end.
        num_given: int32 `[batch]`.
        num_gaps: int32 `[batch]`.
    """

    segments: tf.RaggedTensor
    given: tf.RaggedTensor
    ends: tf.Tensor
    num_given: tf.Tensor
    num_gaps: tf.Tensor

    def possible(self, logits: tf.Tensor) -> tf.Tensor:
        """Rules out lengths that do not fit: float32 `[batch, max_length]`.

        Args:
            logits: float32 `[batch, max_length]`; class i is length i + 1.
        """
        lengths = tf.range(1, tf.shape(logits)[1] + 1)
        least = (self.num_given + self.num_gaps)[:, tf.newaxis]
        has_gaps = (self.num_gaps > 0)[:, tf.newaxis]
        fits = (lengths == least) | ((lengths > least) & has_gaps)
        return tf.where(fits, logits, float("-inf"))

    def _filled(self, lengths: tf.Tensor, gaps: tf.Tensor) -> tf.Tensor:
        """Counts the subwords in the first gaps: `[batch, candidates, numbers]`.

        Args:
            lengths: int32 `[batch, candidates]`, 0 where there is no candidate.
            gaps: int32 `[batch or 1, numbers]`, how many gaps count.
        """
        missing = tf.maximum(lengths - self.num_given[:, tf.newaxis], 0)[
            ..., tf.newaxis
        ]
        num_gaps = tf.maximum(self.num_gaps, 1)[:, tf.newaxis, tf.newaxis]
        gaps = gaps[:, tf.newaxis]
        return missing // num_gaps * gaps + tf.minimum(missing % num_gaps, gaps)

    def initial_ids(self, lengths: tf.Tensor) -> tf.Tensor:
        """Puts the given subwords in their places, MASK in the gaps.

        Args:
            lengths: int32 `[batch, candidates]`, 0 where there is no candidate.

        Returns:
            int32 `[batch, candidates, length]`, PAD behind the end.
        """
        longest = tf.reduce_max(lengths)
        given = self.given.to_tensor(PAD_ID, shape=[None, None])
        number = tf.range(tf.shape(given)[1])
        is_behind = self.ends[..., tf.newaxis] <= number
        gaps_before = tf.reduce_sum(tf.cast(is_behind, tf.int32), axis=1)
        place = number + self._filled(lengths, gaps_before)
        # [batch, candidates, subwords, length]; no two subwords have the same place.
        is_there = place[..., tf.newaxis] == tf.range(longest)
        ids = tf.where(is_there, given[:, tf.newaxis, :, tf.newaxis], PAD_ID)
        ids = tf.reduce_max(ids, axis=2)
        ids = tf.where(ids > PAD_ID, ids, MASK_ID)
        return tf.where(tf.sequence_mask(lengths, longest), ids, PAD_ID)

    def begins_word(self, lengths: tf.Tensor) -> tf.Tensor:
        """Finds the first subword of each gap that is written behind a blank.

        Args:
            lengths: int32 `[batch, candidates]`, 0 where there is no candidate.

        Returns:
            bool `[batch, candidates, length]`.
        """
        gaps = tf.range(tf.shape(self.ends)[1])[tf.newaxis]
        first = self.ends[:, tf.newaxis] + self._filled(lengths, gaps)
        blank = _ends_blank(self.segments.flat_values)
        blank = self.segments.with_flat_values(blank).to_tensor(False)
        wanted = blank & (gaps < self.num_gaps[:, tf.newaxis])
        wanted = wanted[:, tf.newaxis] & (lengths > 0)[..., tf.newaxis]
        first = tf.where(wanted, first, -1)[..., tf.newaxis]
        return tf.reduce_any(first == tf.range(tf.reduce_max(lengths)), axis=2)

    def join(
        self, subwords: ServedSubwords, ids: tf.Tensor, lengths: tf.Tensor
    ) -> tf.Tensor:
        """Joins the given text, letter for letter, with what fills the gaps.

        A gap that begins with a word gets a space in front, unless the text begins
        there or has white space there already.

        Args:
            subwords: turns ids into text.
            ids: int32 `[batch, length]`, a finished candidate of each row.
            lengths: int32 `[batch]`, its length.

        Returns:
            string `[batch]`.
        """
        lengths = lengths[:, tf.newaxis]
        initial = self.initial_ids(lengths)[:, 0]
        written = tf.boolean_mask(ids[:, : tf.shape(initial)[1]], initial == MASK_ID)
        filled = self._filled(lengths, tf.range(tf.shape(self.ends)[1])[tf.newaxis])
        # [batch, segments], the gap in front of each; the first has none.
        widths = filled[:, 0] - tf.pad(filled[:, 0, :-1], [[0, 0], [1, 0]])
        widths = tf.RaggedTensor.from_tensor(widths, lengths=self.num_gaps + 1)
        gaps = tf.RaggedTensor.from_row_lengths(written, widths.flat_values)
        texts = self._without_double_spaces(_decode_inside(subwords, gaps))
        texts = self.segments.with_flat_values(texts + self.segments.flat_values)
        return tf.strings.reduce_join(texts, axis=1)

    def _without_double_spaces(self, texts: tf.Tensor) -> tf.Tensor:
        """Takes a gap's first space away at a text's start and behind white space.

        Args:
            texts: string `[all segments]`, of the gap in front of each.
        """
        numbers = tf.ragged.range(self.segments.row_lengths()).flat_values
        in_front = tf.concat([[""], self.segments.flat_values[:-1]], axis=0)
        is_start = (numbers == 1) & (in_front == "")
        stripped = tf.strings.regex_replace(texts, "^ ", "")
        return tf.where(is_start | _ends_blank(in_front), stripped, texts)


def read_gaps(
    subwords: ServedSubwords, partial: tf.Tensor, name: str, longest: int
) -> Gaps:
    """Splits partly given targets into segments and their subwords.

    Args:
        subwords: the subword model.
        partial: string `[batch]`.
        name: of the input, for the error.
        longest: the most subwords of a target.

    Returns:
        The targets.
    """
    is_free = ~tf.strings.regex_full_match(partial, f"(?s).*{_MARK}.*")
    mark = require(is_free, f"{name}: U+10FFFD cannot be translated")
    segments = tf.strings.split(
        after([check_utf8(partial, name), mark], partial), MASK_PIECE
    )
    follows = tf.ragged.range(segments.row_lengths()).flat_values > 0
    ids = subwords.tokenize(tf.where(follows, _MARK, "") + segments.flat_values)
    # [all segments, (subwords)], without the mark
    start = tf.where(follows, tf.constant(_MARK_LENGTH, tf.int64), 0)
    number = tf.ragged.range(ids.row_lengths()).flat_values
    is_given = number >= tf.gather(start, ids.value_rowids())
    sizes = segments.with_flat_values(tf.cast(ids.row_lengths() - start, tf.int32))
    num_given = tf.reduce_sum(sizes, axis=1)
    given = tf.boolean_mask(ids.flat_values, is_given)
    num_gaps = tf.cast(segments.row_lengths(), tf.int32) - 1
    fits = require(
        num_given + num_gaps <= longest,
        f"{name}: more than {longest} subwords, one a gap",
    )
    return Gaps(
        segments,
        tf.RaggedTensor.from_row_lengths(given, num_given),
        tf.cumsum(sizes.to_tensor(), axis=1),
        after([fits], num_given),
        num_gaps,
    )


def _ends_blank(texts: tf.Tensor) -> tf.Tensor:
    """Tells which strings end in white space."""
    return tf.strings.regex_full_match(texts, f"(?s).*{BLANK}")


def _decode_inside(subwords: ServedSubwords, ids: tf.RaggedTensor) -> tf.Tensor:
    """Joins int32 `[batch, (length)]` as inside a text: a first space is kept."""
    ids = ids.with_row_splits_dtype(tf.int64)
    marks = subwords.tokenizer.tokenize(tf.fill([ids.nrows()], _MARK))
    texts = subwords.decode_ragged(tf.concat([marks, ids], axis=1))
    return tf.strings.regex_replace(texts, f"^{_MARK}", "")


def check_mark(subwords: ServedSubwords) -> None:
    """Checks that a subword model splits the mark as this module expects.

    Raises:
        UserError: it has a piece of its own for it.
    """
    if len(subwords.tokenizer.tokenize(_MARK)) != _MARK_LENGTH:
        raise UserError("the subword model knows U+10FFFD: cannot complete with it")
