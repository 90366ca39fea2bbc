"""Buckets: the sentence pairs that share one row length."""

import functools
from collections.abc import Iterator

import numpy as np

from cmlm_tf.data.packing import pack
from cmlm_tf.data.prepared import PreparedCorpus
from cmlm_tf.data.rows import Batch, fill_rows, ranges


class Bucket:
    """An endless series of batches of one shape.

    The pairs are packed once. In each epoch pairs of equal lengths change
    places at random and the rows come in random order; the series is one epoch
    after the other, so a batch may begin in one and end in the next.

    Attributes:
        shape: `(rows, row_length)` of a batch.
        num_tokens: tokens of both sides.
    """

    def __init__(
        self,
        prepared: PreparedCorpus,
        pairs: np.ndarray,
        shape: tuple[int, int],
        append_eos: bool,
    ):
        """Packs the pairs.

        Args:
            prepared: where the sentences lie.
            pairs: int `[num_pairs]`, one or more numbers of sentence pairs,
                each of which fits a row.
            shape: `(rows, row_length)` of a batch.
            append_eos: True ends every target in EOS.
        """
        self.shape = shape
        self._prepared, self._pairs, self._append_eos = prepared, pairs, append_eos
        source = prepared.source.lengths[pairs]
        target = prepared.target.lengths[pairs] + append_eos
        self.num_tokens = int(source.sum() + target.sum())
        base = shape[1] + 1
        keys = source * base + target
        counts = np.bincount(keys, minlength=base * base)
        (lengths,) = np.nonzero(counts)
        self._packing = pack(*np.divmod(lengths, base), counts[lengths], shape[1])
        # Small integers make the stable sort of each epoch a fast radix sort.
        small = np.min_scalar_type(len(lengths))
        self._classes = (np.cumsum(counts > 0) - 1)[keys].astype(small)
        self._slots_by_class = np.argsort(
            self._packing.slot_classes.astype(small), kind="stable"
        )
        self._shuffled = functools.lru_cache(maxsize=1)(self._shuffle)

    @property
    def num_rows(self) -> int:
        """Rows of an epoch."""
        return self._packing.num_rows

    def num_batches(self, num_epochs: int) -> int:
        """Returns how many batches are full after that many epochs."""
        return self.num_rows * num_epochs // self.shape[0]

    def batch(self, number: int, seed: int) -> Batch:
        """Returns one batch of the endless series.

        Args:
            number: of the batch, from 0.
            seed: of the shuffling.
        """
        row, end = number * self.shape[0], (number + 1) * self.shape[0]
        parts = []
        while row < end:
            epoch, first = divmod(row, self.num_rows)
            rows, slots = self._shuffled(epoch, seed)
            rows = rows[first : first + end - row]
            parts.append(self._read(rows, slots))
            row += len(rows)
        return self._fill(*map(np.concatenate, zip(*parts, strict=True)))

    def batches_in_order(self) -> Iterator[Batch]:
        """Yields every pair once; the rows that the last batch lacks are empty."""
        slots = self._into_slots(np.arange(len(self._pairs)))
        rows = np.arange(self.num_rows)
        for row in range(0, self.num_rows, self.shape[0]):
            yield self._fill(*self._read(rows[row : row + self.shape[0]], slots))

    def _shuffle(self, epoch: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the order of an epoch's rows, and the pair in each slot."""
        sequence = np.random.SeedSequence([seed, epoch, self.shape[1]])
        rng = np.random.Generator(np.random.Philox(sequence))
        pairs = self._into_slots(rng.permutation(len(self._pairs)))
        return rng.permutation(self.num_rows), pairs

    def _into_slots(self, pairs: np.ndarray) -> np.ndarray:
        """Puts pairs, in the order given, into the slots of their lengths."""
        by_class = pairs[np.argsort(self._classes[pairs], kind="stable")]
        slots = np.empty_like(by_class)
        slots[self._slots_by_class] = by_class
        return slots

    def _read(
        self, rows: np.ndarray, slots: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the pairs of some rows, and how many are in each row."""
        starts = self._packing.row_offsets[rows]
        pairs_per_row = self._packing.row_offsets[rows + 1] - starts
        return self._pairs[slots[ranges(starts, pairs_per_row)]], pairs_per_row

    def _fill(self, pairs: np.ndarray, pairs_per_row: np.ndarray) -> Batch:
        return fill_rows(
            self._prepared, pairs, pairs_per_row, self.shape, self._append_eos
        )
