"""Encoder, decoder and shared embedding: what teacher and student have alike."""

import dataclasses
from typing import Any, Self

import keras
import tensorflow as tf

from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.embedding import SharedEmbedding
from cmlm_tf.modeling.layers import (
    DecoderLayer,
    EncoderLayer,
    attend,
    dtype_policy,
    heads_first,
    layer_norm,
    same_segment,
)

MemoryCache = list[tuple[tf.Tensor, tf.Tensor]]


class _Stack(keras.layers.Layer):
    """Layers with a final layer norm: what encoder and decoder have alike."""

    def __init__(
        self, layers: list[keras.layers.Layer], config: TransformerConfig, **kwargs
    ):
        super().__init__(**kwargs)
        self.layers = layers
        self.norm = layer_norm(config.model_dim)
        self.dropout = keras.layers.Dropout(config.dropout)
        self.build([None, None, config.model_dim])

    def compute_output_shape(self, input_shape):
        """Returns the shape that comes in, for `summary`."""
        return input_shape


class Encoder(_Stack):
    """A stack of encoder layers with a final layer norm."""

    def __init__(self, config: TransformerConfig, **kwargs):
        """Makes the layers."""
        layers = [EncoderLayer(config) for _ in range(config.num_encoder_layers)]
        super().__init__(layers, config, **kwargs)

    def call(
        self, x: tf.Tensor, segments: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """Maps embedded sources `[batch, length, model_dim]` to states.

        Args:
            x: float `[batch, length, model_dim]`.
            segments: int32 `[batch, length]`, sentence numbers, 0 at padding.
            training: whether dropout is on.

        Returns:
            float `[batch, length, model_dim]`; padding's states mean nothing.
        """
        allowed = same_segment(segments, segments)
        x = self.dropout(x, training=training)
        for layer in self.layers:
            x = layer(x, allowed, training=training)
        return self.norm(x)


class Decoder(_Stack):
    """A stack of decoder layers with a final layer norm."""

    def __init__(self, config: TransformerConfig, **kwargs):
        """Makes the layers."""
        layers = [DecoderLayer(config) for _ in range(config.num_decoder_layers)]
        super().__init__(layers, config, **kwargs)

    def call(
        self,
        x: tf.Tensor,
        self_allowed: tf.Tensor,
        memory: tf.Tensor,
        memory_allowed: tf.Tensor,
        training: bool = False,
    ) -> tf.Tensor:
        """Decodes whole targets, as in training.

        Args:
            x: float `[batch, length, model_dim]`, embedded targets.
            self_allowed: bool `[batch, 1, length, length]`.
            memory: float `[batch, sources, model_dim]`, encoder states.
            memory_allowed: bool `[batch, 1, length, sources]`.
            training: whether dropout is on.

        Returns:
            float `[batch, length, model_dim]`.
        """
        x = self.dropout(x, training=training)
        for layer, (keys, values) in zip(
            self.layers, self.memory_cache(memory), strict=True
        ):
            x = layer(
                x,
                attend_self=lambda q, k, v: attend(
                    q, heads_first(k), heads_first(v), self_allowed
                ),
                attend_memory=lambda q, k=keys, v=values: attend(
                    q, k, v, memory_allowed
                ),
                training=training,
            )
        return self.norm(x)

    def memory_cache(self, memory: tf.Tensor) -> MemoryCache:
        """Returns each layer's keys and values of the encoder's states.

        Args:
            memory: float `[batch, sources, model_dim]`.

        Returns:
            Pairs of float `[batch, heads, sources, depth]`, one a layer.
        """
        pairs = (layer.memory_attention.keys_values(memory) for layer in self.layers)
        return [(heads_first(keys), heads_first(values)) for keys, values in pairs]


class Transformer(keras.Model):
    """Base of teacher and student: the same parts under the same names."""

    def __init__(self, config: TransformerConfig, **kwargs):
        """Makes the parts and their weights."""
        super().__init__(**kwargs)
        self.config = config
        self.embedding = SharedEmbedding(config)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.built = True

    def get_config(self) -> dict[str, Any]:
        """Returns what `from_config` makes the same model of, weights aside."""
        sizes = dataclasses.asdict(self.config)
        return {"config": sizes, "dtype": self.dtype_policy.name, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects=None) -> Self:
        """Makes a model with new weights of what `get_config` returned."""
        with dtype_policy(config["dtype"]):
            return cls(TransformerConfig(**config["config"]), name=config["name"])

    def encode_sentences(self, source_ids: tf.Tensor) -> tf.Tensor:
        """Encodes one sentence a row; PAD ids are padding.

        Args:
            source_ids: int32 `[batch, sources]`, each sentence ends in EOS.

        Returns:
            float `[batch, sources, model_dim]`; padding's states mean nothing.
        """
        segments = tf.cast(source_ids != 0, tf.int32)
        positions = tf.zeros_like(source_ids) + tf.range(tf.shape(source_ids)[1])
        return self.encoder(self.embedding(source_ids, positions), segments)

    def states(
        self, batch: dict[str, tf.Tensor], training: bool, causal: bool
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Runs encoder and decoder over whole targets, as in training.

        Args:
            batch: int32 `[batch, length]` tensors `source_ids`, `source_segments`,
                `source_positions`, `decoder_ids`, `target_segments`,
                `target_positions`. Segments number a row's sentences from 1, 0 is
                padding; positions count from 0 in each. Each source ends in EOS.
            training: whether dropout is on.
            causal: whether a target position sees none behind it.

        Returns:
            What the vocabulary's table multiplies, float `[batch, targets,
            model_dim]`, and the encoder's states, `[batch, sources, model_dim]`.
        """
        sources, targets = batch["source_segments"], batch["target_segments"]
        embedded = self.embedding(batch["source_ids"], batch["source_positions"])
        memory = self.encoder(embedded, sources, training=training)
        allowed = same_segment(targets, targets)
        if causal:
            steps = tf.range(tf.shape(targets)[1])
            allowed &= steps[:, None] >= steps[None, :]
        states = self.decoder(
            self.embedding(batch["decoder_ids"], batch["target_positions"]),
            allowed,
            memory,
            same_segment(targets, sources),
            training=training,
        )
        return states, memory
