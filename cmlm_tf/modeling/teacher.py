"""The autoregressive Transformer: the teacher of sequence-level distillation."""

from typing import NamedTuple

import keras
import tensorflow as tf

from cmlm_tf.modeling.layers import attend, heads_first
from cmlm_tf.modeling.transformer import MemoryCache, Transformer
from cmlm_tf.special_ids import PAD_ID, TEACHER_BANNED_IDS


class StepCache(NamedTuple):
    """What one decoding step needs; the first axis of each tensor is sentences.

    Attributes:
        memory: per layer keys and values of the encoder's states, float
            `[sentences, heads, sources, depth]`.
        source_valid: bool `[sentences, sources]`.
        targets: per layer keys and values of the targets so far, float
            `[sentences, heads, time, beam, depth]`; entries not yet written
            are zero.
    """

    memory: MemoryCache
    source_valid: tf.Tensor
    targets: MemoryCache


@keras.saving.register_keras_serializable("cmlm_tf")
class AutoregressiveTransformer(Transformer):
    """Transformer of Vaswani et al. (2017), trained on target prefixes."""

    banned_ids = TEACHER_BANNED_IDS

    def call(self, batch: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        """Predicts every target subword from those before it.

        Args:
            batch: see `states`; decoder ids are targets shifted right, BOS in front.
            training: whether dropout is on.

        Returns:
            float32 raw logits `[batch, targets, vocab_size]`.
        """
        return self.embedding.logits(self.target_states(batch, training))

    def target_states(self, batch: dict[str, tf.Tensor], training: bool) -> tf.Tensor:
        """Returns what the logits are made of: float `[batch, targets, model_dim]`.

        The arguments are those of `call`.
        """
        return self.states(batch, training, causal=True)[0]

    def start(
        self, source_ids: tf.Tensor, beam_size: int, max_steps: int | None
    ) -> StepCache:
        """Encodes the sources and makes an empty cache.

        Args:
            source_ids: int32 `[sentences, sources]`, each ends in EOS, PAD
                behind.
            beam_size: hypotheses per sentence.
            max_steps: steps to make room for, so that the cache has one shape
                in all steps (XLA), or None to let it grow.

        Returns:
            The cache for the first `step`.
        """
        memory = self.decoder.memory_cache(self.encode_sentences(source_ids))
        keys = memory[0][0]
        shape = [
            tf.shape(source_ids)[0],
            keys.shape[1],
            0 if max_steps is None else max_steps,
            beam_size,
            keys.shape[3],
        ]
        empty = tf.zeros(shape, keys.dtype)
        return StepCache(memory, source_ids != PAD_ID, [(empty, empty)] * len(memory))

    def step(
        self,
        ids: tf.Tensor,
        time: tf.Tensor,
        ancestors: tf.Tensor,
        cache: StepCache,
        growing: bool,
    ) -> tuple[tf.Tensor, StepCache]:
        """Predicts the next subword of every hypothesis.

        The cache is never reordered: all hypotheses of a sentence look at one
        pool of keys and values, each at those of its own ancestors.

        Args:
            ids: int32 `[sentences, beam]`, the last subword of each hypothesis.
            time: int32 scalar, its position.
            ancestors: int32 `[sentences, beam, times]`, the beam slot in which
                each hypothesis' subword at each time was written; times after
                `time` are ignored.
            cache: as `start` or the last `step` returned it.
            growing: whether the cache grows by each step.

        Returns:
            float32 raw logits `[sentences, beam, vocab_size]` and the new cache.
        """
        x = self.embedding(ids, tf.zeros_like(ids) + time)
        allowed = self._ancestry(ancestors, time)
        memory_allowed = cache.source_valid[:, None, None, :]
        targets = []
        for layer, memory, old in zip(
            self.decoder.layers, cache.memory, cache.targets, strict=True
        ):

            def attend_self(q, k, v, old=old):
                keys, values = (
                    _append(x, new, time, growing)
                    for x, new in zip(old, (k, v), strict=True)
                )
                targets.append((keys, values))
                return attend(q, _pool(keys), _pool(values), allowed)

            def attend_memory(q, memory=memory):
                keys, values = memory
                return attend(q, keys, values, memory_allowed)

            x = layer(x, attend_self=attend_self, attend_memory=attend_memory)
        logits = self.embedding.logits(self.decoder.norm(x))
        return logits, cache._replace(targets=targets)

    @staticmethod
    def _ancestry(ancestors: tf.Tensor, time: tf.Tensor) -> tf.Tensor:
        """Maps ancestors to bool `[sentences, 1, beam, times * beam]`."""
        sentences, beam, times = tf.unstack(tf.shape(ancestors))
        own = ancestors[:, :, :, None] == tf.range(beam)
        written = tf.range(times)[:, None] <= time
        return tf.reshape(own & written, [sentences, 1, beam, times * beam])


def _append(
    cache: tf.Tensor, new: tf.Tensor, time: tf.Tensor, growing: bool
) -> tf.Tensor:
    """Writes `[sentences, beam, heads, depth]` into the cache at `time`."""
    new = heads_first(new)
    if growing:
        return tf.concat([cache, new[:, :, None]], axis=2)
    sentences, heads = tf.unstack(tf.shape(new)[:2])
    rows = tf.meshgrid(tf.range(sentences), tf.range(heads), indexing="ij")
    places = tf.stack([*rows, tf.fill([sentences, heads], time)], axis=2)
    return tf.tensor_scatter_nd_update(cache, places, new)


def _pool(cache: tf.Tensor) -> tf.Tensor:
    """Joins times and beam: `[sentences, heads, times * beam, depth]`."""
    sentences, heads, times, beam, depth = tf.unstack(tf.shape(cache))
    pooled = tf.reshape(cache, [sentences, heads, times * beam, depth])
    return tf.ensure_shape(pooled, [None, None, None, cache.shape[4]])
