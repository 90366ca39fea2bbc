"""The conditional masked language model (CMLM; paper, section 2)."""

from collections.abc import Callable
from typing import NamedTuple

import keras
import tensorflow as tf

from cmlm_tf.modeling.compaction import (
    ChunkSize,
    Compaction,
    in_chunks,
    in_pieces,
    take,
)
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.layers import attend, same_segment
from cmlm_tf.modeling.length_predictor import LengthPredictor
from cmlm_tf.modeling.output import best_tokens
from cmlm_tf.modeling.transformer import Decoder, MemoryCache, Transformer
from cmlm_tf.special_ids import PAD_ID, STUDENT_BANNED_IDS

#: With static shapes, so many subwords may go through the decoder at a time, and so
#: many through the vocabulary: the largest number, which fills a GPU, or in the last
#: passes, in which little is left, the largest of the others that is at most a quarter
#: of what there is. Each number is compiled anew.
_CHUNK_TOKENS = (512, 2048, 8192)
_CHUNK_LOGITS = (512, 2048)
#: Positions of a chunk's grid, padding included, for each of its subwords.
_GRID_PER_TOKEN = 3
#: With dynamic shapes, the most logits at a time, 1 GB in float32. TensorFlow's GPU
#: kernels fail from 2**31 elements on.
_MOST_LOGITS = 2**28

PredictFn = Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, ...]]
Pack = Callable[[tf.Tensor], tf.Tensor]
ReadFn = Callable[[tf.Tensor, Pack], tuple[tf.Tensor, ...]]


class SourceCache(NamedTuple):
    """What all passes need of the sources; the first axis is sentences.

    Attributes:
        memory: per decoder layer keys and values of the encoder's states,
            float `[sentences, heads, sources, depth]`.
        valid: bool `[sentences, sources]`, True where not padding.
    """

    memory: MemoryCache
    valid: tf.Tensor


@keras.saving.register_keras_serializable("cmlm_tf")
class ConditionalMaskedLM(Transformer):
    """A Transformer whose decoder sees the whole, partly masked target."""

    banned_ids = STUDENT_BANNED_IDS

    def __init__(self, config: TransformerConfig, **kwargs):
        """Makes the teacher's parts and the length classifier."""
        super().__init__(config, **kwargs)
        self.length_predictor = LengthPredictor(
            config.max_length, config.model_dim, config.dropout
        )

    def call(
        self, batch: dict[str, tf.Tensor], training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Predicts the masked subwords and the target lengths.

        Args:
            batch: int32 `[batch, length]` tensors `source_ids`,
                `source_segments`, `source_positions`, `decoder_ids` (targets
                with MASK where masked), `target_segments`, `target_positions`.
            training: whether dropout is on.

        Returns:
            float32 raw logits `[batch, targets, vocab_size]` and float32
            length logits `[batch, sources, max_length]` as `LengthPredictor`
            returns them.
        """
        states, lengths = self.target_states(batch, training)
        return self.embedding.logits(states), lengths

    def target_states(
        self, batch: dict[str, tf.Tensor], training: bool
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns what the logits are made of, and the length logits.

        The arguments are those of `call`.

        Returns:
            float `[batch, targets, model_dim]`, and the second result of `call`.
        """
        memory = self.encode(
            batch["source_ids"],
            batch["source_segments"],
            batch["source_positions"],
            training=training,
        )
        segments = batch["target_segments"]
        allowed = same_segment(segments, segments)
        states = self.decode(batch, memory, allowed, training)
        lengths = self.length_predictor(
            memory, batch["source_segments"], training=training
        )
        return states, lengths

    def start(self, source_ids: tf.Tensor) -> tuple[SourceCache, tf.Tensor]:
        """Encodes the sources once for all passes.

        Args:
            source_ids: int32 `[sentences, sources]`, each ends in EOS, PAD
                behind.

        Returns:
            The cache for `predict_fn` and float32 length logits
            `[sentences, max_length]`.
        """
        memory = self.encode_sentences(source_ids)
        valid = source_ids != PAD_ID
        lengths = self.length_predictor.predict_sentences(memory, valid)
        return SourceCache(self.decoder.memory_cache(memory), valid), lengths

    def predict_fn(
        self,
        cache: SourceCache,
        num_candidates: int | tf.Tensor,
        static: bool,
        read_fn: ReadFn | None = None,
        read_dtypes: tuple[tf.DType, ...] = (tf.int32, tf.float32),
        one_size: bool = False,
    ) -> PredictFn:
        """Returns the function that predicts wanted positions.

        Args:
            cache: of `sentences` sources.
            num_candidates: rows per sentence; a sentence's rows follow each
                other.
            static: whether all shapes are static (XLA). In both cases sentences
                without a wanted position leave the batch, padding is packed away
                and the vocabulary is computed at wanted positions. With static
                shapes that is done in chunks of a few sizes, filled up behind what
                is wanted, or, of few positions or where shapes are known to XLA
                alone, for the whole grid at once; otherwise exactly, and the last
                layer is computed at wanted positions, too.
            read_fn: what to read off the logits, or None for the most probable
                subwords. Maps float32 logits `[positions, vocab_size]`, with
                nothing banned, and a function that brings values `[rows, length]`
                to the same positions, to tensors `[positions]`.
            read_dtypes: of these tensors.
            one_size: whether all chunks have one size, so that what a position gets
                is the same to the last bit whatever else is wanted.

        Returns:
            A function of `input_ids` int32 `[rows, length]`, PAD at padding,
            and `wanted` bool `[rows, length]`. It returns int32 ids and
            float32 natural log-probabilities, both `[rows, length]`, of the
            most probable subword at each wanted position, or else what
            `read_fn` reads there; other positions hold values to be ignored.
            Banned ids have probability zero.
        """
        read_fn = read_fn or (lambda logits, _: best_tokens(logits, self.banned_ids))

        def grouped(grid):
            rows, length = tf.unstack(tf.shape(grid))
            return tf.reshape(grid, [rows // num_candidates, num_candidates, length])

        def joined(grid):
            sentences, _, length = tf.unstack(tf.shape(grid))
            return tf.reshape(grid, [sentences * num_candidates, length])

        def predict(input_ids, wanted):
            ids, is_wanted = grouped(input_ids), grouped(wanted)
            active = tf.reduce_any(is_wanted, axis=[1, 2])

            def predict_some(sentences, capacity):
                some = take(is_wanted, sentences)
                if capacity is not None:  # Some only fill the chunk up.
                    some &= (sentences < tf.size(active))[:, None, None]
                values = self._predict(
                    take(cache, sentences),
                    num_candidates,
                    joined(take(ids, sentences)),
                    joined(some),
                    static,
                    one_size,
                    capacity,
                    lambda logits, pack: read_fn(
                        logits,
                        lambda grid: pack(joined(take(grouped(grid), sentences))),
                    ),
                    read_dtypes,
                )
                return tuple(map(grouped, values))

            empty = tuple(tf.zeros_like(ids, kind) for kind in read_dtypes)
            if static:
                in_play = (ids != PAD_ID) & tf.reduce_any(is_wanted, 2, keepdims=True)
                tokens = tf.reduce_sum(tf.cast(in_play, tf.int32), axis=[1, 2])
                sizes = _token_sizes(ids.shape, one_size)
                values = in_chunks(predict_some, active, sizes, empty, tokens)
            else:
                sentences = tf.where(active)
                some = predict_some(tf.cast(sentences[:, 0], tf.int32), None)
                values = tf.nest.map_structure(
                    lambda x, new: tf.tensor_scatter_nd_update(x, sentences, new),
                    empty,
                    some,
                )
            return tuple(map(joined, values))

        return predict

    def _predict(
        self,
        cache,
        num_candidates,
        input_ids,
        wanted,
        static,
        one_size,
        capacity,
        read_fn,
        read_dtypes,
    ):
        """Predicts for sentences of which at least one position is wanted."""
        has_wanted = tf.reduce_any(wanted, axis=1, keepdims=True)
        valid = (input_ids != PAD_ID) & has_wanted
        tokens = Compaction(valid, static, capacity)
        # With static shapes nothing is gained by a shorter stream for the last layer.
        targets = tokens if static else Compaction(wanted)
        positions = tf.zeros_like(input_ids) + tf.range(tf.shape(input_ids)[1])
        x = self.embedding(tokens.pack(input_ids), tokens.pack(positions))
        allowed = valid[:, None, None, :], cache.valid[:, None, None, :]
        x = run_decoder(
            self.decoder, cache.memory, x, (tokens, targets), allowed, num_candidates
        )

        def predict_some(positions):
            logits = self.embedding.logits(take(x, positions))
            return read_fn(logits, lambda grid: take(targets.pack(grid), positions))

        if static:
            is_wanted = targets.pack(wanted) & targets.filled
            read = in_chunks(
                lambda positions, _: predict_some(positions),
                is_wanted,
                _logit_sizes(is_wanted.shape[0], one_size),
                tuple(tf.zeros_like(is_wanted, kind) for kind in read_dtypes),
            )
        else:
            most = max(_MOST_LOGITS // self.config.vocab_size, 1)
            read = in_pieces(predict_some, tf.shape(x)[0], most, read_dtypes)
        return tuple(targets.unpack(values) for values in read)


def run_decoder(
    decoder: Decoder,
    memory: MemoryCache,
    x: tf.Tensor,
    streams: tuple[Compaction, Compaction],
    allowed: tuple[tf.Tensor, tf.Tensor],
    num_candidates: int | tf.Tensor,
) -> tf.Tensor:
    """Runs all layers of a decoder, attention on grids and all else on streams.

    Args:
        decoder: of a student.
        memory: of the sources; see `SourceCache`.
        x: float `[stream, model_dim]`.
        streams: of `x`, and of the positions whose last states are wanted.
        allowed: bool, where targets and where sources may be looked at, broadcast to
            `[rows, heads, length, length]` and
            `[sentences, heads, num_candidates * length, sources]`.
        num_candidates: rows of a sentence.

    Returns:
        float `[wanted, model_dim]`.
    """
    tokens, targets = streams

    def run(layer, keys_values, x, queried):
        def attend_self(q, k, v):
            k, v = tokens.unpack_heads(k), tokens.unpack_heads(v)
            grid = attend(queried.unpack_heads(q), k, v, allowed[0], "bhtd")
            return queried.pack_heads(grid)

        def attend_memory(q):
            # The candidates of a sentence look at its source side by side.
            grid = queried.unpack_heads(q, num_candidates)
            keys, values = keys_values
            return queried.pack_heads(attend(grid, keys, values, allowed[1], "bhtd"))

        def select(y):
            return y if queried is tokens else queried.select_from(tokens, y)

        return layer(
            x, attend_self=attend_self, attend_memory=attend_memory, select=select
        )

    *earlier, last = zip(decoder.layers, memory, strict=True)
    for layer in earlier:
        x = run(*layer, x, tokens)
    return decoder.norm(run(*last, x, targets))


def _token_sizes(shape: tf.TensorShape, one_size: bool) -> list[ChunkSize | None]:
    """Returns how many sentences and subwords go through the decoder at a time.

    Args:
        shape: sentences, candidates and length.
        one_size: whether there is one size only.
    """
    if not shape.is_fully_defined():
        return [None]
    grid = shape[1] * shape[2]

    def size(tokens):
        sentences = max(_GRID_PER_TOKEN * tokens // grid, 1)
        return ChunkSize(min(sentences, shape[0]), max(tokens, grid))

    return _sizes(_CHUNK_TOKENS, shape.num_elements(), one_size, size)


def _logit_sizes(positions: int | None, one_size: bool) -> list[ChunkSize | None]:
    """Returns how many of so many positions go through the vocabulary at a time."""
    if positions is None:
        return [None]
    return _sizes(_CHUNK_LOGITS, positions, one_size, lambda n: ChunkSize(n, n))


def _sizes(steps, total, one_size, size) -> list[ChunkSize | None]:
    """Returns a size for at most a quarter, and one for all or the largest."""
    *smaller, largest = map(size, steps)
    last = None if total <= steps[-1] else largest
    most = total if last is None else last.capacity
    few = [s for s in smaller if 4 * s.capacity <= most][-1:]
    return [last] if one_size else [*few, last]
