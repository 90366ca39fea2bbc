"""Strings to subword ids and back, inside the graph."""

from typing import NamedTuple

import tensorflow as tf

from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.serving.checks import after, require
from cmlm_tf.special_ids import EOS_ID, MASK_ID, PAD_ID

#: A character that Python's `str.isspace` holds for white space, as an RE2 pattern.
BLANK = r"[\s\x{0b}\x{1c}-\x{1f}\x{85}\p{Z}]"


#: What `plain_spaces` and `unbroken` of `cmlm_tf.data.text_files` replace.
_SPACE = r"[\x00\x0b\x0c\x1c-\x1f\x{85}]"
_LINE_END = r"[\n\r\x0b\x0c\x1c-\x1e\x{85}\x{2028}\x{2029}]"


class Encoded(NamedTuple):
    """Subword ids of a batch.

    Attributes:
        ids: int32 `[batch, length]`, PAD behind the end; length is at least 1.
        lengths: int32 `[batch]`, 0 for a blank text.
    """

    ids: tf.Tensor
    lengths: tf.Tensor

    def with_end(self) -> tf.Tensor:
        """Returns int32 `[batch, length + 1]`: EOS behind all that is not blank."""
        ids = tf.pad(self.ids, [[0, 0], [0, 1]], constant_values=PAD_ID)
        lengths = self.lengths[:, tf.newaxis]
        is_end = (tf.range(tf.shape(ids)[1]) == lengths) & (lengths > 0)
        return tf.where(is_end, EOS_ID, ids)


class ServedSubwords(tf.Module):
    """A subword model as ops of the graph."""

    def __init__(self, model: SubwordModel):
        """Makes the ops' resource from a loaded subword model."""
        super().__init__()
        self.tokenizer = model.tokenizer()
        self._vocab_size = model.vocab_size

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Splits UTF-8 texts, string `[batch]`, into int32 ids `[batch, (length)]`."""
        return self.tokenizer.tokenize(tf.strings.regex_replace(texts, _SPACE, " "))

    def encode(self, texts: tf.Tensor, name: str, longest: int) -> Encoded:
        """Splits texts into subword ids; refuses what cannot be served.

        Args:
            texts: string `[batch]`.
            name: of the input, for the error.
            longest: the most subwords of a text.

        Returns:
            The ids. A text of nothing but white space has none.
        """
        texts = after([check_utf8(texts, name)], texts)
        ids = self.tokenize(texts)
        is_blank = tf.strings.regex_full_match(texts, f"{BLANK}*")
        lengths = tf.where(is_blank, 0, tf.cast(ids.row_lengths(), tf.int32))
        fits = require(lengths <= longest, f"{name}: more than {longest} subwords")
        dense = ids.to_tensor(PAD_ID, shape=[None, None])
        return _encoded(dense, after([fits], lengths))

    def check_ids(self, ids: tf.Tensor, name: str, longest: int) -> Encoded:
        """Reads subword ids that were made elsewhere.

        Args:
            ids: int32 `[batch, length]`, without EOS, PAD behind the end.
            name: of the input, for the error.
            longest: the most subwords of a row.

        Returns:
            The ids.
        """
        lengths = tf.reduce_sum(tf.cast(ids != PAD_ID, tf.int32), axis=1)
        is_inside = tf.sequence_mask(lengths, tf.shape(ids)[1])
        is_text = (ids > MASK_ID) & (ids < self._vocab_size)
        checks = [
            require(
                tf.reduce_all(is_text | ~is_inside, axis=1),
                f"{name}: must be from {MASK_ID + 1} to {self._vocab_size - 1}, "
                "padding behind",
            ),
            require(lengths <= longest, f"{name}: more than {longest} subwords"),
        ]
        return _encoded(ids, after(checks, lengths))

    def decode(self, ids: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        """Joins subword ids to texts of one line each.

        Args:
            ids: int32 `[batch, length]`.
            lengths: int32 `[batch]`, how many of them count.

        Returns:
            string `[batch]`.
        """
        ragged = tf.RaggedTensor.from_tensor(ids, lengths=lengths)
        return self.decode_ragged(ragged)

    def decode_ragged(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """Joins int32 `[batch, (length)]` to texts, string `[batch]`."""
        texts = self.tokenizer.detokenize(ids)
        return tf.strings.regex_replace(texts, _LINE_END, " ")


def check_utf8(texts: tf.Tensor, name: str) -> tf.Operation:
    """Refuses strings that are not UTF-8."""
    repaired = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    return require(repaired == texts, f"{name}: not valid UTF-8")


def _encoded(ids: tf.Tensor, lengths: tf.Tensor) -> Encoded:
    """Cuts or pads ids to the longest row, and to one column at least."""
    width = tf.maximum(tf.reduce_max(lengths), 1)
    padding = tf.maximum(width - tf.shape(ids)[1], 0)
    ids = tf.pad(ids, [[0, 0], [0, padding]], constant_values=PAD_ID)[:, :width]
    return Encoded(tf.where(tf.sequence_mask(lengths, width), ids, PAD_ID), lengths)
