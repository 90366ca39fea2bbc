"""How a pass of the student is computed: with dynamic or with static shapes.

In both, sentences without a wanted position leave the batch, padding is packed away
and the vocabulary is computed at wanted positions. Only what is predicted there is
right, and it is the same but for the last digits.
"""

import abc
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import tensorflow as tf

from cmlm_tf.modeling.chunks import (
    in_chunks,
    in_pieces,
    logit_sizes,
    take,
    token_sizes,
)
from cmlm_tf.modeling.compaction import Compaction, WholeGrid, run_decoder
from cmlm_tf.modeling.output import Reader, best_tokens
from cmlm_tf.modeling.student import ConditionalMaskedLM, SourceCache
from cmlm_tf.special_ids import PAD_ID

#: TensorFlow's GPU kernels fail from 2**31 elements on. These are 1 GB in float32.
MOST_LOGITS = 2**28
#: Subwords that go through the decoder, or the vocabulary, at a time: the largest
#: number fills a GPU, the smaller ones are for the last passes, in which little is
#: left. XLA compiles the pass for each number.
CHUNK_TOKENS = (512, 2048, 8192)
CHUNK_LOGITS = (512, 2048)

Values = tuple[tf.Tensor, ...]
PredictFn = Callable[[tf.Tensor, tf.Tensor], Values]


class Targets(NamedTuple):
    """What a pass computes; the first axis of every tensor is sentences.

    Attributes:
        cache: of the sources.
        ids: int32 `[sentences, candidates, length]`, PAD at padding.
        wanted: bool, likewise, True where a prediction is wanted.
        given: what the reader reads beside the logits, each likewise.
    """

    cache: SourceCache
    ids: tf.Tensor
    wanted: tf.Tensor
    given: Values

    @property
    def num_candidates(self) -> int | tf.Tensor:
        """Rows of a sentence."""
        return self.ids.shape[1] or tf.shape(self.ids)[1]

    def valid(self) -> tf.Tensor:
        """Returns bool `[rows, length]`: no padding, in rows with a wanted position."""
        has_wanted = tf.reduce_any(grid_of(self.wanted), axis=1, keepdims=True)
        return (grid_of(self.ids) != PAD_ID) & has_wanted


class Passes(abc.ABC):
    """Computes the passes of a student."""

    def __init__(self, student: ConditionalMaskedLM):
        """Takes the model."""
        self.student = student

    def predict_fn(
        self,
        cache: SourceCache,
        num_candidates: int | tf.Tensor,
        reader: Reader | None = None,
    ) -> PredictFn:
        """Returns the function that predicts wanted positions.

        Args:
            cache: of `sentences` sources, from the student's `start`.
            num_candidates: rows per sentence; a sentence's rows follow each
                other.
            reader: what to read off the logits; None for the most probable
                subwords, of which banned ones have probability zero.

        Returns:
            A function of `input_ids` int32 `[rows, length]`, PAD at padding,
            and `wanted` bool `[rows, length]`. It returns what the reader reads
            at each wanted position, `[rows, length]`: by default int32 ids and
            float32 natural log-probabilities. Other positions hold values to be
            ignored.
        """
        if reader is None:
            reader = Reader(partial(best_tokens, banned_ids=self.student.banned_ids))

        def predict(input_ids: tf.Tensor, wanted: tf.Tensor) -> Values:
            ids = _grouped(input_ids, num_candidates)
            is_wanted = _grouped(wanted, num_candidates)
            targets = Targets(cache, ids, is_wanted, reader.given)
            return tuple(map(grid_of, self._predict_active(targets, reader)))

        return predict

    @abc.abstractmethod
    def _predict_active(self, targets: Targets, reader: Reader) -> Values:
        """Returns what is read, `[sentences, candidates, length]`."""

    def _states(
        self, targets: Targets, valid: tf.Tensor, streams: tuple[Compaction, Compaction]
    ) -> tf.Tensor:
        """Runs the decoder; see `run_decoder` for the streams.

        What is valid, bool `[rows, length]`, may be looked at.
        """
        ids = grid_of(targets.ids)
        positions = tf.zeros_like(ids) + tf.range(tf.shape(ids)[1])
        x = self.student.embedding(*map(streams[0].pack, (ids, positions)))
        return run_decoder(
            self.student.decoder,
            targets.cache.memory,
            x,
            streams,
            (valid[:, None, None, :], targets.cache.valid[:, None, None, :]),
            targets.num_candidates,
        )

    def _read(
        self,
        states: tf.Tensor,
        given: Sequence[tf.Tensor],
        reader: Reader,
        places: tf.Tensor | None,
    ) -> Values:
        """Reads at places of a stream of states, or everywhere."""
        logits = self.student.embedding.logits(take(states, places))
        return reader.read(logits, *(take(values, places) for values in given))

    def _grids(
        self, queried: Compaction, read: Sequence[tf.Tensor], targets: Targets
    ) -> Values:
        """Brings what was read back to `[sentences, candidates, length]`."""
        grids = map(queried.unpack, read)
        return tuple(_grouped(grid, targets.num_candidates) for grid in grids)


class DynamicPasses(Passes):
    """Computes exactly what is wanted, the last layer included, as suits a CPU."""

    def __init__(self, student: ConditionalMaskedLM, most_logits: int = MOST_LOGITS):
        """Takes the model.

        Args:
            student: the model.
            most_logits: how many are computed at a time.
        """
        super().__init__(student)
        self._most = max(most_logits // student.config.vocab_size, 1)

    def _predict_active(self, targets: Targets, reader: Reader) -> Values:
        active = tf.where(tf.reduce_any(targets.wanted, axis=[1, 2]))
        some = self._predict(take(targets, tf.cast(active[:, 0], tf.int32)), reader)
        return tuple(
            tf.tensor_scatter_nd_update(
                tf.zeros_like(targets.ids, new.dtype), active, new
            )
            for new in some
        )

    def _predict(self, targets: Targets, reader: Reader) -> Values:
        """Returns what is read of sentences that all have a wanted position."""
        valid = targets.valid()
        tokens = Compaction(valid)
        wanted = Compaction(grid_of(targets.wanted))
        states = self._states(targets, valid, (tokens, wanted))
        given = [wanted.pack(grid_of(values)) for values in targets.given]
        read = in_pieces(
            partial(self._read, states, given, reader),
            tf.shape(states)[0],
            self._most,
            reader.dtypes,
        )
        return self._grids(wanted, read, targets)


class StaticPasses(Passes):
    """Computes in static shapes, as XLA needs them.

    What is wanted is done in chunks of a few sizes, filled up behind it, or, of few
    positions or where shapes are known to XLA alone, as the whole grid at once.
    """

    def __init__(
        self,
        student: ConditionalMaskedLM,
        chunk_tokens: Sequence[int] = CHUNK_TOKENS,
        chunk_logits: Sequence[int] = CHUNK_LOGITS,
    ):
        """Takes the model and the sizes of chunks, in rising order.

        A chunk has the largest size, or, where little is left, the largest of the
        others that is at most a quarter of what there is. With one size alone, what
        a position gets is the same to the last bit whatever else is wanted.

        Args:
            student: the model.
            chunk_tokens: how many subwords go through the decoder at a time.
            chunk_logits: how many of them go through the vocabulary at a time.
        """
        super().__init__(student)
        self._chunk_tokens, self._chunk_logits = chunk_tokens, chunk_logits

    @classmethod
    def of_one_size(cls, student: ConditionalMaskedLM) -> "StaticPasses":
        """Returns the form whose results depend on nothing else to the last bit."""
        return cls(student, CHUNK_TOKENS[-1:], CHUNK_LOGITS[-1:])

    def _predict_active(self, targets: Targets, reader: Reader) -> Values:
        ids, wanted = targets.ids, targets.wanted
        active = tf.reduce_any(wanted, axis=[1, 2])

        def predict_some(sentences: tf.Tensor | None, capacity: int | None) -> Values:
            some = take(targets, sentences)
            if sentences is not None:  # Some only fill the chunk up.
                is_there = (sentences < tf.size(active))[:, None, None]
                some = some._replace(wanted=some.wanted & is_there)
            return self._predict(some, reader, capacity)

        in_play = (ids != PAD_ID) & tf.reduce_any(wanted, axis=2, keepdims=True)
        return in_chunks(
            predict_some,
            active,
            token_sizes(ids.shape, self._chunk_tokens),
            tuple(tf.zeros_like(ids, kind) for kind in reader.dtypes),
            tf.reduce_sum(tf.cast(in_play, tf.int32), axis=[1, 2]),
        )

    def _predict(
        self, targets: Targets, reader: Reader, capacity: int | None
    ) -> Values:
        """Returns what is read of at most `capacity` subwords, or of the grid."""
        valid = targets.valid()
        tokens = WholeGrid(valid) if capacity is None else Compaction(valid, capacity)
        # Nothing is gained by a shorter stream for the last layer.
        states = self._states(targets, valid, (tokens, tokens))
        given = [tokens.pack(grid_of(values)) for values in targets.given]
        is_wanted = tokens.pack(grid_of(targets.wanted)) & tokens.filled
        read = in_chunks(
            lambda places, _: self._read(states, given, reader, places),
            is_wanted,
            logit_sizes(is_wanted.shape[0], self._chunk_logits),
            tuple(tf.zeros_like(is_wanted, kind) for kind in reader.dtypes),
        )
        return self._grids(tokens, read, targets)


def grid_of(grid: tf.Tensor) -> tf.Tensor:
    """Maps `[sentences, candidates, length]` to `[rows, length]`."""
    sentences, candidates, length = tf.unstack(tf.shape(grid))
    return tf.reshape(grid, [sentences * candidates, length])


def _grouped(grid: tf.Tensor, num_candidates: int | tf.Tensor) -> tf.Tensor:
    """Maps `[rows, length]` to `[sentences, candidates, length]`."""
    rows, length = tf.unstack(tf.shape(grid))
    return tf.reshape(grid, [rows // num_candidates, num_candidates, length])
