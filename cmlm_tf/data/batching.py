"""Batches of fixed shapes, with several sentences packed into each row.

A batch is a dictionary of int32 arrays `[rows, row_length]`, for `source` and
`target`: `*_ids`, the subwords, PAD where unused; `*_segments`, the number of
the sentence within its row from 1, the same on both sides, 0 where unused;
`*_positions`, the place within the sentence from 0.
"""

import bisect
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import tensorflow as tf

from cmlm_tf.data.buckets import Bucket
from cmlm_tf.data.prepared import PreparedCorpus
from cmlm_tf.data.rows import Batch
from cmlm_tf.errors import UserError

FIELDS = tuple(
    f"{side}_{kind}"
    for side in ("source", "target")
    for kind in ("ids", "segments", "positions")
)

_PREFETCHED_BATCHES = 8
_MANY_EPOCHS = 1 << 40


class TrainingBatches:
    """Endless training batches, shuffled anew in each epoch.

    An epoch has always the same rows in another order, so what a step holds
    follows from its number: a run resumes anywhere without replaying others.
    Every batch is full; rows that are left at the end of an epoch begin the
    next one. With several row lengths the shapes come in random order, each as
    often as its rows demand.
    """

    def __init__(
        self,
        prepared: PreparedCorpus,
        row_lengths: Sequence[int],
        tokens_per_batch: int,
        seed: int,
        append_eos: bool,
        *,
        rows_multiple: int = 1,
    ):
        """Packs the corpus.

        Args:
            prepared: the corpus.
            row_lengths: tokens of a row on either side, one static shape each.
                A sentence pair goes to the shortest row it fits.
            tokens_per_batch: target tokens of a batch, padding included.
            seed: 0 or more; the same seed gives the same batches.
            append_eos: True ends every target in EOS, as the teacher needs it.
            rows_multiple: rows are a multiple of it, for that many replicas.

        Raises:
            UserError: a sentence fits no row, or a row no batch.
        """
        self._seed = seed
        self._buckets = _make_buckets(
            prepared, row_lengths, tokens_per_batch, append_eos, rows_multiple
        )

    @property
    def padding_waste(self) -> float:
        """Share of the positions of an epoch, of both sides, that hold padding."""
        used = sum(bucket.num_tokens for bucket in self._buckets)
        places = sum(2 * b.num_rows * b.shape[1] for b in self._buckets)
        return 1 - used / places

    @property
    def steps_per_epoch(self) -> float:
        """Batches of an epoch, on average."""
        return sum(b.num_rows / b.shape[0] for b in self._buckets)

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """All `(rows, row_length)` of the batches."""
        return [bucket.shape for bucket in self._buckets]

    def dataset(self, start_step: int = 0) -> tf.data.Dataset:
        """Returns `batches` as an endless dataset that works ahead.

        Args:
            start_step: steps that are already done.
        """
        dataset = _dataset(lambda: self.batches(start_step), self._buckets)
        # Of a dataset that may end, replicas ask before each batch whether it does.
        return dataset.apply(
            tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
        )

    def batches(self, start_step: int = 0) -> Iterator[Batch]:
        """Yields the batches from a step on, as numpy arrays."""
        epochs = range(_MANY_EPOCHS)
        after = bisect.bisect_right(epochs, start_step, key=self._num_steps)
        schedule = itertools.chain.from_iterable(
            map(self._schedule, itertools.count(after - 1))
        )
        done = self._num_steps(after - 1)
        for bucket, number in itertools.islice(schedule, start_step - done, None):
            yield bucket.batch(number, self._seed)

    def _num_steps(self, num_epochs: int) -> int:
        return sum(bucket.num_batches(num_epochs) for bucket in self._buckets)

    def _schedule(self, epoch: int) -> Iterator[tuple[Bucket, int]]:
        """Yields bucket and number of the batches that an epoch completes."""
        numbers = [bucket.num_batches(epoch) for bucket in self._buckets]
        ends = [bucket.num_batches(epoch + 1) for bucket in self._buckets]
        indices = np.repeat(np.arange(len(ends)), np.subtract(ends, numbers))
        sequence = np.random.SeedSequence([self._seed, epoch])
        rng = np.random.Generator(np.random.Philox(sequence))
        for index in rng.permutation(indices):
            yield self._buckets[index], numbers[index]
            numbers[index] += 1


def dev_batches(
    prepared: PreparedCorpus,
    row_lengths: Sequence[int],
    tokens_per_batch: int,
    append_eos: bool,
    *,
    rows_multiple: int = 1,
) -> tf.data.Dataset:
    """Returns a finite dataset with every sentence pair once, always the same.

    The last batch of each shape is filled up with empty rows. The arguments are
    those of `TrainingBatches`.

    Raises:
        UserError: a sentence fits no row, or a row no batch.
    """
    buckets = _make_buckets(
        prepared, row_lengths, tokens_per_batch, append_eos, rows_multiple
    )
    return _dataset(
        lambda: itertools.chain.from_iterable(b.batches_in_order() for b in buckets),
        buckets,
    )


def _make_buckets(
    prepared: PreparedCorpus,
    row_lengths: Sequence[int],
    tokens_per_batch: int,
    append_eos: bool,
    rows_multiple: int,
) -> list[Bucket]:
    row_lengths = sorted(row_lengths)
    if tokens_per_batch < row_lengths[-1] * rows_multiple:
        raise UserError(
            f"tokens_per_batch {tokens_per_batch}: too few for {rows_multiple} "
            f"rows of {row_lengths[-1]}"
        )
    longer = np.maximum(prepared.source.lengths, prepared.target.lengths + append_eos)
    if longer.max() > row_lengths[-1]:
        raise UserError(
            f"{prepared.folder}: a sentence of {longer.max()} subwords does not fit "
            f"a row of {row_lengths[-1]}"
        )
    index = np.searchsorted(row_lengths, longer)
    buckets = []
    for number, row_length in enumerate(row_lengths):
        rows = tokens_per_batch // (row_length * rows_multiple) * rows_multiple
        pairs = np.flatnonzero(index == number)
        if len(pairs):
            shape = (rows, row_length)
            buckets.append(Bucket(prepared, pairs, shape, append_eos))
    return buckets


def _dataset(
    batches: Callable[[], Iterator[Batch]], buckets: list[Bucket]
) -> tf.data.Dataset:
    shape = buckets[0].shape if len(buckets) == 1 else (None, None)
    signature = {name: tf.TensorSpec(shape, tf.int32) for name in FIELDS}
    dataset = tf.data.Dataset.from_generator(batches, output_signature=signature)
    return dataset.prefetch(_PREFETCHED_BATCHES)
