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
        places: int32 `[batch, (subwords)]`, the segment of each, from 0.
        num_given: int32 `[batch]`.
        num_gaps: int32 `[batch]`.
    """

    segments: tf.RaggedTensor
    given: tf.RaggedTensor
    places: tf.RaggedTensor
    num_given: tf.Tensor
    num_gaps: tf.Tensor

    def possible(self, logits: tf.Tensor) -> tf.Tensor:
        """Rules out lengths that do not fit: float32 `[batch, max_length]`.

        Args:
            logits: float32 `[batch, max_length]`; class i is length i + 1.
        """
        lengths = tf.range(1, tf.shape(logits)[1] + 1)
        least = (self.num_given + self.num_gaps)[:, tf.newaxis]
        fits = (lengths == least) | (
            (lengths > least) & (self.num_gaps > 0)[:, tf.newaxis]
        )
        return tf.where(fits, logits, float("-inf"))

    def widths(self, lengths: tf.Tensor) -> tf.Tensor:
        """Shares out the subwords that are missing.

        Args:
            lengths: int32 `[batch, candidates]`, 0 where there is no candidate.

        Returns:
            int32 `[batch, candidates, segments]`, the gap in front of each
            segment, 0 in front of the first.
        """
        missing = tf.maximum(lengths - self.num_given[:, tf.newaxis], 0)
        missing = missing[:, :, tf.newaxis]
        num_gaps = self.num_gaps[:, tf.newaxis, tf.newaxis]
        gap = tf.range(tf.reduce_max(self.num_gaps) + 1) - 1
        share = missing // tf.maximum(num_gaps, 1)
        left_over = missing % tf.maximum(num_gaps, 1)
        widths = share + tf.cast(gap < left_over, tf.int32)
        return tf.where((gap >= 0) & (gap < num_gaps), widths, 0)

    def initial_ids(self, lengths: tf.Tensor) -> tf.Tensor:
        """Puts the given subwords in their places, MASK in the gaps.

        Args:
            lengths: int32 `[batch, candidates]`, 0 where there is no candidate.

        Returns:
            int32 `[batch, candidates, length]`, PAD behind the end.
        """
        longest = tf.reduce_max(lengths)
        moved = tf.cumsum(self.widths(lengths), axis=2)
        given = self.given.to_tensor(PAD_ID, shape=[None, None])
        places = self.places.to_tensor(0, shape=[None, None])
        # [batch, candidates, segments] -> [batch, candidates, subwords]
        candidates = tf.shape(lengths)[1]
        at = tf.tile(places[:, tf.newaxis], [1, candidates, 1])
        at = tf.range(tf.shape(given)[1]) + tf.gather(moved, at, batch_dims=2)
        # A subword stands where its position is; no two have the same.
        is_there = at[..., tf.newaxis] == tf.range(longest)
        is_there &= (given != PAD_ID)[:, tf.newaxis, :, tf.newaxis]
        ids = tf.where(is_there, given[:, tf.newaxis, :, tf.newaxis], 0)
        ids = tf.reduce_sum(ids, axis=2)
        ids = tf.where(tf.reduce_any(is_there, axis=2), ids, MASK_ID)
        return tf.where(tf.sequence_mask(lengths, longest), ids, PAD_ID)

    def begins_word(self, lengths: tf.Tensor) -> tf.Tensor:
        """Finds the first subword of each gap that is written behind a blank.

        Args:
            lengths: int32 `[batch, candidates]`, 0 where there is no candidate.

        Returns:
            bool `[batch, candidates, length]`.
        """
        widths = self.widths(lengths)
        numbers = tf.range(tf.shape(widths)[2])
        # Subwords in front of each gap: those given, and those of other gaps.
        places = self.places.to_tensor(tf.int32.max, shape=[None, None])
        is_before = places[..., tf.newaxis] < numbers
        given = tf.reduce_sum(tf.cast(is_before, tf.int32), axis=1)
        first = given[:, tf.newaxis] + tf.cumsum(widths, axis=2, exclusive=True)
        follows = _ends_blank(self._in_front()).to_tensor(False)
        wanted = follows[:, tf.newaxis] & (widths > 0)
        first = tf.where(wanted, first, -1)[..., tf.newaxis]
        return tf.reduce_any(first == tf.range(tf.reduce_max(lengths)), axis=2)

    def _in_front(self) -> tf.RaggedTensor:
        """Returns the segment in front of each gap: `[batch, (segments)]`."""
        texts = tf.concat([[""], self.segments.flat_values[:-1]], axis=0)
        return self.segments.with_flat_values(texts)

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
        # The first segment has no gap in front of it, but a width of 0.
        widths = tf.RaggedTensor.from_tensor(
            self.widths(lengths)[:, 0], lengths=self.num_gaps + 1
        )
        gaps = tf.RaggedTensor.from_row_lengths(written, widths.flat_values)
        texts = self._with_spaces(_decode_inside(subwords, gaps))
        texts += self.segments.flat_values
        return tf.strings.reduce_join(self.segments.with_flat_values(texts), axis=1)

    def _with_spaces(self, texts: tf.Tensor) -> tf.Tensor:
        """Takes a gap's first space away where the text in front of it has one.

        Args:
            texts: string `[all segments]`, of the gap in front of each.
        """
        numbers = tf.ragged.range(self.segments.row_lengths()).flat_values
        before = self._in_front().flat_values
        # The start of a text is like a blank; an empty segment elsewhere is not.
        before = tf.where(numbers == 1, " ", "") + before
        follows_blank = _ends_blank(before)
        stripped = tf.strings.regex_replace(texts, "^ ", "")
        return tf.where(follows_blank, stripped, texts)


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
    follows = tf.ragged.range(segments.row_lengths(), dtype=tf.int64).flat_values > 0
    ids = subwords.tokenize(tf.where(follows, _MARK, "") + segments.flat_values)
    start = tf.where(follows, _MARK_LENGTH, 0)
    place = tf.ragged.range(tf.cast(ids.row_lengths(), tf.int32))
    ids = tf.ragged.boolean_mask(ids, place >= start[:, tf.newaxis])
    ids = segments.with_flat_values(ids)
    places = _segment_numbers(ids)
    given, places = ids.merge_dims(1, 2), places.merge_dims(1, 2)
    num_gaps = tf.cast(segments.row_lengths(), tf.int32) - 1
    num_given = tf.cast(given.row_lengths(), tf.int32)
    fits = require(
        num_given + num_gaps <= longest,
        f"{name}: more than {longest} subwords, one a gap",
    )
    return Gaps(segments, given, places, after([fits], num_given), num_gaps)


def _ends_blank(texts):
    """Tells which strings, dense or ragged, end in white space."""
    return tf.ragged.map_flat_values(
        tf.strings.regex_full_match, texts, f"(?s).*{BLANK}"
    )


def _decode_inside(subwords: ServedSubwords, ids: tf.RaggedTensor) -> tf.Tensor:
    """Joins int32 `[batch, (length)]` as inside a text: a first space is kept."""
    ids = ids.with_row_splits_dtype(tf.int64)
    marks = subwords.tokenizer.tokenize(tf.fill([ids.nrows()], _MARK))
    texts = subwords.decode_ragged(tf.concat([marks, ids], axis=1))
    return tf.strings.regex_replace(texts, f"^{_MARK}", "")


def _segment_numbers(ids: tf.RaggedTensor) -> tf.RaggedTensor:
    """Replaces each id of `[batch, (segments), (ids)]` by its segment's number."""
    numbers = tf.ragged.range(tf.cast(ids.row_lengths(), tf.int32)).flat_values
    repeated = tf.repeat(numbers, ids.values.row_lengths())
    return ids.with_flat_values(repeated)


def check_mark(subwords: ServedSubwords) -> None:
    """Checks that a subword model splits the mark as this module expects.

    Raises:
        UserError: it has a piece of its own for it.
    """
    if len(subwords.tokenizer.tokenize(_MARK)) != _MARK_LENGTH:
        raise UserError("the subword model knows U+10FFFD: cannot complete with it")
