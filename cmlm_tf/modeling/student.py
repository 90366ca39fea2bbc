"""The conditional masked language model (CMLM; paper, section 2)."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from cmlm_tf.modeling.compaction import Compaction, in_chunks, put, take
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.layers import attend, heads_first, same_segment
from cmlm_tf.modeling.length_predictor import LengthPredictor
from cmlm_tf.modeling.output import best_tokens
from cmlm_tf.modeling.transformer import MemoryCache, Transformer
from cmlm_tf.special_ids import PAD_ID, STUDENT_BANNED_IDS

#: With static shapes, so many positions go through the decoder at a time, and so
#: many through the vocabulary: enough to fill a GPU, few enough to leave out most
#: of what is not wanted.
_CHUNK_POSITIONS = 8192
_CHUNK_LOGITS = 2048

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
    ) -> PredictFn:
        """Returns the function that predicts wanted positions.

        Args:
            cache: of `sentences` sources.
            num_candidates: rows per sentence; a sentence's rows follow each
                other.
            static: whether all shapes are static (XLA). Otherwise padding is
                packed away, and the last layer is computed at wanted positions
                alone. In both cases sentences without a wanted position leave
                the batch and the vocabulary is computed at wanted positions; with
                static shapes that is done in chunks, the last of which is filled
                up, or all at once where they are not known before XLA compiles.
            read_fn: what to read off the logits, or None for the most probable
                subwords. Maps float32 logits `[positions, vocab_size]`, with
                nothing banned, and a function that brings values `[rows, length]`
                to the same positions, to tensors `[positions]`.
            read_dtypes: of these tensors.

        Returns:
            A function of `input_ids` int32 `[rows, length]`, PAD at padding,
            and `wanted` bool `[rows, length]`. It returns int32 ids and
            float32 natural log-probabilities, both `[rows, length]`, of the
            most probable subword at each wanted position, or else what
            `read_fn` reads there; other positions hold values to be ignored.
            Banned ids have probability zero.
        """
        read_fn = read_fn or (lambda logits, _: best_tokens(logits, self.banned_ids))

        def predict(input_ids, wanted):
            rows = tf.shape(input_ids)[0]
            active = tf.reduce_any(
                tf.reshape(wanted, [rows // num_candidates, -1]), axis=1
            )

            def predict_some(sentences, predicted):
                kept = None
                if sentences is not None:
                    kept = sentences[:, None] * num_candidates
                    kept = tf.reshape(kept + tf.range(num_candidates), [-1])
                some = self._predict(
                    take(cache, sentences),
                    num_candidates,
                    take(input_ids, kept),
                    take(wanted, kept),
                    static,
                    lambda logits, pack: read_fn(
                        logits, lambda grid: pack(take(grid, kept))
                    ),
                    read_dtypes,
                )
                return put(predicted, kept, some)

            predicted = tuple(tf.zeros_like(input_ids, kind) for kind in read_dtypes)
            if not static:
                sentences = tf.cast(tf.where(active)[:, 0], tf.int32)
                return predict_some(sentences, predicted)
            most = None
            if not tf.is_tensor(num_candidates) and input_ids.shape[1] is not None:
                size = num_candidates * input_ids.shape[1]
                most = max(_CHUNK_POSITIONS // size, 1)
            return in_chunks(predict_some, active, most, predicted)

        return predict

    def _predict(
        self, cache, num_candidates, input_ids, wanted, static, read_fn, read_dtypes
    ):
        """Predicts for sentences of which at least one position is wanted."""
        has_wanted = tf.reduce_any(wanted, axis=1, keepdims=True)
        valid = (input_ids != PAD_ID) & has_wanted
        tokens, targets = Compaction(valid, static), Compaction(wanted, static)
        positions = tf.zeros_like(input_ids) + tf.range(tf.shape(input_ids)[1])
        x = self.embedding(tokens.pack(input_ids), tokens.pack(positions))
        allowed = valid[:, None, None, :]
        memory_allowed = cache.valid[:, None, None, :]

        def fold(grid):
            """Puts the queries of a sentence's candidates into one row."""
            sentences = tf.shape(grid)[0] // num_candidates
            return tf.reshape(grid, tf.concat([[sentences, -1], tf.shape(grid)[2:]], 0))

        def run(layer, memory, x, queried, select):
            def attend_self(q, k, v):
                k, v = heads_first(tokens.unpack(k)), heads_first(tokens.unpack(v))
                return queried.pack(attend(queried.unpack(q), k, v, allowed))

            def attend_memory(q):
                keys, values = memory
                grid = queried.unpack(q)
                context = attend(fold(grid), keys, values, memory_allowed)
                return queried.pack(tf.reshape(context, tf.shape(grid)))

            return layer(
                x, attend_self=attend_self, attend_memory=attend_memory, select=select
            )

        *earlier, last = zip(self.decoder.layers, cache.memory, strict=True)
        for layer, memory in earlier:
            x = run(layer, memory, x, tokens, lambda y: y)
        x = run(*last, x, targets, lambda y: targets.select_from(tokens, y))
        x = self.decoder.norm(x)

        def predict_some(positions, predicted):
            logits = self.embedding.logits(take(x, positions))
            some = read_fn(logits, lambda grid: take(targets.pack(grid), positions))
            return put(predicted, positions, some)

        first = x[:, 0]
        read = in_chunks(
            predict_some,
            targets.pack(wanted),
            _CHUNK_LOGITS if static else None,
            tuple(tf.zeros_like(first, kind) for kind in read_dtypes),
        )
        return tuple(targets.unpack(values) for values in read)
