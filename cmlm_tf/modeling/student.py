"""The conditional masked language model (CMLM; paper, section 2)."""

from typing import NamedTuple

import keras
import tensorflow as tf

from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.length_predictor import LengthPredictor
from cmlm_tf.modeling.transformer import MemoryCache, Transformer
from cmlm_tf.special_ids import PAD_ID, STUDENT_BANNED_IDS


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
            batch: see `states`; decoder ids are targets with MASK where masked.
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
        states, memory = self.states(batch, training, causal=False)
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
            The cache for `Passes` and float32 length logits
            `[sentences, max_length]`.
        """
        memory = self.encode_sentences(source_ids)
        valid = source_ids != PAD_ID
        lengths = self.length_predictor.predict_sentences(memory, valid)
        return SourceCache(self.decoder.memory_cache(memory), valid), lengths
