"""Which sentences are decoded side by side, and in what shapes."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from cmlm_tf.decoding.beam_search import longest_hypothesis
from cmlm_tf.special_ids import EOS_ID, PAD_ID

#: Source or target lengths for which XLA compiles, up to the model's own.
LENGTHS = (16, 32, 48, 64, 128)
#: Numbers of sentences for which XLA compiles, up to the largest batch.
BATCH_SIZES = (1, 8, 64, 256, 512)
#: A batch holds no more subwords than full batches of this length.
USUAL_LENGTH = 32


@dataclasses.dataclass(frozen=True)
class BatchShapes:
    """Sorts sentences into batches and pads them.

    Attributes:
        sentences_per_batch: the most sentences side by side.
        max_length: the model's longest source or target.
        static: whether shapes come from a small set, as XLA needs.
        single: whether that set, of static shapes, has one member, the largest batch
            of the longest sentences.
    """

    sentences_per_batch: int
    max_length: int
    static: bool
    single: bool = False

    def batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Yields indices of sentences of like length, the longest first.

        Args:
            lengths: subwords of each source, without EOS.
        """
        order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
        while order:
            longest = self._length(lengths[order[0]] + 1)
            size = self._most_sentences(longest)
            yield order[:size]
            order = order[size:]

    def pad(self, sources: Sequence[Sequence[int]]) -> tf.Tensor:
        """Ends each source in EOS and pads: int32 `[batch, longest]`.

        >>> BatchShapes(8, 64, static=False).pad([[7], [8, 9]]).numpy().tolist()
        [[7, 3, 0], [8, 9, 3]]
        """
        longest = self._length(max(map(len, sources), default=0) + 1)
        padded = np.full([self._batch_size(len(sources)), longest], PAD_ID, np.int32)
        for row, ids in zip(padded, sources, strict=False):
            row[: len(ids)] = ids
            row[len(ids)] = EOS_ID
        return tf.constant(padded)

    def pad_lengths(self, lengths: Sequence[int]) -> tf.Tensor:
        """Pads target lengths with zeros: int32 `[batch]`."""
        padding = self._batch_size(len(lengths)) - len(lengths)
        return tf.constant([*lengths, *[0] * padding], tf.int32)

    def static_length(self, longest: int) -> int | None:
        """Returns the length of the target grid, or None for dynamic shapes."""
        return self._length(longest) if self.static else None

    def static_limit(self, source_ids: tf.Tensor) -> int | None:
        """Returns the most subwords of a teacher's hypotheses, likewise."""
        if not self.static:
            return None
        return min(longest_hypothesis(source_ids.shape[1]), self.max_length - 1)

    def _length(self, length: int) -> int:
        if not self.static:
            return length
        if self.single:
            return self.max_length
        return next(
            (n for n in LENGTHS if length <= n < self.max_length), self.max_length
        )

    def _batch_size(self, size: int) -> int:
        if not self.static:
            return size
        if self.single:
            return self.sentences_per_batch
        sizes = (n for n in BATCH_SIZES if size <= n < self.sentences_per_batch)
        return next(sizes, max(size, self.sentences_per_batch))

    def _most_sentences(self, length: int) -> int:
        if self.single:
            return self.sentences_per_batch
        most = self.sentences_per_batch * USUAL_LENGTH // max(length, USUAL_LENGTH)
        if not self.static or most == self.sentences_per_batch:
            return max(most, 1)
        return max(n for n in BATCH_SIZES if n <= max(most, 1))
