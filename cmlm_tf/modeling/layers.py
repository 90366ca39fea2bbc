"""The parts of a Transformer (Vaswani et al., 2017), layer norm first.

A decoder layer is told how to attend by callables, so that the same weights
serve whole padded targets in training, one step with a cache in beam search
and the packed tokens of many candidates in iterative decoding.
"""

import contextlib
from collections.abc import Callable, Iterator

import keras
import tensorflow as tf

from cmlm_tf.modeling.config import TransformerConfig

#: Added to the scores of forbidden positions; finite, so that a row without
#: any allowed position gives numbers, not NaN.
MASKED_SCORE = -1e9

LAYER_NORM_EPSILON = 1e-6


@contextlib.contextmanager
def dtype_policy(name: str) -> Iterator[None]:
    """Makes the layers built inside compute in the given type."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def attend(
    queries: tf.Tensor,
    keys: tf.Tensor,
    values: tf.Tensor,
    allowed: tf.Tensor,
    layout: str = "bthd",
) -> tf.Tensor:
    """Scaled dot-product attention of every head; the softmax is float32.

    Args:
        queries: float `[batch, targets, heads, depth]`, already scaled.
        keys: float `[batch, heads, sources, depth]`, as `heads_first` makes them:
            what many passes or steps read is brought into this order once.
        values: float of the same shape.
        allowed: bool, broadcast to `[batch, heads, targets, sources]`; True
            where a target may look.
        layout: of queries and result; "bhtd" puts the heads before the targets.

    Returns:
        float `[batch, targets, heads, depth]`, in the dtype of `values`.
    """
    scores = tf.einsum(f"{layout},bhsd->bhts", queries, keys)
    scores = tf.where(allowed, tf.cast(scores, tf.float32), MASKED_SCORE)
    weights = tf.cast(tf.nn.softmax(scores), values.dtype)
    # The gradient of an einsum would bring its own into a slow order.
    context = tf.matmul(weights, values)
    if layout == "bthd":
        context = heads_first(context)  # Its own inverse.
    return tf.ensure_shape(context, queries.shape)  # What a padded memory lost.


def heads_first(x: tf.Tensor) -> tf.Tensor:
    """Swaps heads and places: `[batch, sources, heads, depth]`, and the other way."""
    return tf.transpose(x, [0, 2, 1, 3])


class MultiHeadAttention(keras.layers.Layer):
    """The projections of multi-head attention; `attend` does the rest."""

    def __init__(self, config: TransformerConfig, **kwargs):
        """Makes the projections."""
        super().__init__(**kwargs)
        self._num_heads = config.num_heads
        self._depth = config.model_dim // config.num_heads
        dim = config.model_dim
        self.query = dense(dim, dim)
        self.key_value = dense(dim, 2 * dim)
        self.output_projection = dense(dim, dim)
        self.built = True

    def queries(self, x: tf.Tensor) -> tf.Tensor:
        """Maps `[..., model_dim]` to scaled queries `[..., heads, depth]`."""
        return self._heads(self.query(x) * self._depth**-0.5)

    def keys_values(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Maps `[..., model_dim]` to keys and values `[..., heads, depth]`."""
        keys, values = tf.split(self.key_value(x), 2, axis=-1)
        return self._heads(keys), self._heads(values)

    def merge(self, context: tf.Tensor) -> tf.Tensor:
        """Maps `[..., heads, depth]` to `[..., model_dim]`."""
        shape = tf.concat([tf.shape(context)[:-2], [self._num_heads * self._depth]], 0)
        merged = tf.reshape(context, shape)
        merged.set_shape(context.shape[:-2] + [self._num_heads * self._depth])
        return self.output_projection(merged)

    def _heads(self, x: tf.Tensor) -> tf.Tensor:
        shape = tf.concat([tf.shape(x)[:-1], [self._num_heads, self._depth]], 0)
        heads = tf.reshape(x, shape)
        heads.set_shape(x.shape[:-1] + [self._num_heads, self._depth])
        return heads


class FeedForward(keras.layers.Layer):
    """Two dense layers with a ReLU between."""

    def __init__(self, config: TransformerConfig, **kwargs):
        """Makes the dense layers."""
        super().__init__(**kwargs)
        self.inner = dense(config.model_dim, config.feed_forward_dim, "relu")
        self.outer = dense(config.feed_forward_dim, config.model_dim)
        self.dropout = keras.layers.Dropout(config.dropout)
        self.built = True

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Maps `[..., model_dim]` to `[..., model_dim]`."""
        return self.outer(self.dropout(self.inner(x), training=training))


class EncoderLayer(keras.layers.Layer):
    """Self-attention and feed-forward, each with a residual."""

    def __init__(self, config: TransformerConfig, **kwargs):
        """Makes the sub-layers."""
        super().__init__(**kwargs)
        self.self_attention = MultiHeadAttention(config)
        self.feed_forward = FeedForward(config)
        self.self_attention_norm = layer_norm(config.model_dim)
        self.feed_forward_norm = layer_norm(config.model_dim)
        self.dropout = keras.layers.Dropout(config.dropout)
        self.built = True

    def call(
        self, x: tf.Tensor, allowed: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """Maps `[batch, length, model_dim]` to the same shape.

        Args:
            x: float `[batch, length, model_dim]`.
            allowed: bool `[batch, 1, length, length]`, True where a position
                (third axis) may look (last axis).
            training: whether dropout is on.

        Returns:
            float `[batch, length, model_dim]`.
        """
        normed = self.self_attention_norm(x)
        keys, values = map(heads_first, self.self_attention.keys_values(normed))
        context = attend(self.self_attention.queries(normed), keys, values, allowed)
        x += self.dropout(self.self_attention.merge(context), training=training)
        y = self.feed_forward(self.feed_forward_norm(x), training=training)
        return x + self.dropout(y, training=training)


AttendSelf = Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]
AttendMemory = Callable[[tf.Tensor], tf.Tensor]
Select = Callable[[tf.Tensor], tf.Tensor]


class DecoderLayer(keras.layers.Layer):
    """Self-attention, attention to the encoder and feed-forward."""

    def __init__(self, config: TransformerConfig, **kwargs):
        """Makes the sub-layers."""
        super().__init__(**kwargs)
        self.self_attention = MultiHeadAttention(config)
        self.memory_attention = MultiHeadAttention(config)
        self.feed_forward = FeedForward(config)
        self.self_attention_norm = layer_norm(config.model_dim)
        self.memory_attention_norm = layer_norm(config.model_dim)
        self.feed_forward_norm = layer_norm(config.model_dim)
        self.dropout = keras.layers.Dropout(config.dropout)
        self.built = True

    def call(
        self,
        x: tf.Tensor,
        attend_self: AttendSelf,
        attend_memory: AttendMemory,
        select: Select = lambda x: x,
        training: bool = False,
    ) -> tf.Tensor:
        """Maps `[..., model_dim]` to the selected positions' new states.

        Args:
            x: float `[..., model_dim]`, in whatever layout of positions the
                callables understand.
            attend_self: maps queries of the selected positions and keys and
                values of all, each `[..., heads, depth]`, to the context.
            attend_memory: maps queries of the selected positions to the
                context in the encoder's states.
            select: picks the positions whose states are wanted.
            training: whether dropout is on.

        Returns:
            float `[..., model_dim]` of the selected positions.
        """
        normed = self.self_attention_norm(x)
        keys, values = self.self_attention.keys_values(normed)
        queries = self.self_attention.queries(select(normed))
        context = attend_self(queries, keys, values)
        x = select(x)
        x += self.dropout(self.self_attention.merge(context), training=training)

        normed = self.memory_attention_norm(x)
        context = attend_memory(self.memory_attention.queries(normed))
        x += self.dropout(self.memory_attention.merge(context), training=training)

        y = self.feed_forward(self.feed_forward_norm(x), training=training)
        return x + self.dropout(y, training=training)


def dense(
    inputs: int, outputs: int, activation: str | None = None
) -> keras.layers.Dense:
    """Returns a dense layer from `inputs` to `outputs`, its weights made."""
    layer = keras.layers.Dense(outputs, activation=activation)
    layer.build([None, inputs])
    return layer


class LayerNorm(keras.layers.LayerNormalization):
    """Layer normalisation over the last axis (Ba et al., 2016)."""

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Maps float `[..., dim]` to the same shape.

        Outside of training the formula, in float32, is written so that XLA makes one
        kernel of it on a GPU; of Keras's it makes three. Training does not gain, but
        compiles longer.
        """
        if training:
            return super().call(x)
        x = tf.cast(x, tf.float32)
        centred = x - tf.reduce_mean(x, axis=-1, keepdims=True)
        variance = tf.reduce_mean(centred * centred, axis=-1, keepdims=True)
        normed = centred * tf.math.rsqrt(variance + self.epsilon)
        gamma, beta = (
            tf.cast(tf.convert_to_tensor(weight), tf.float32)
            for weight in (self.gamma, self.beta)
        )
        return tf.cast(normed * gamma + beta, self.compute_dtype)


def layer_norm(dim: int) -> LayerNorm:
    """Returns layer normalisation over a last axis of `dim`, its weights made."""
    layer = LayerNorm(epsilon=LAYER_NORM_EPSILON)
    layer.build([None, dim])
    return layer


def same_segment(targets: tf.Tensor, sources: tf.Tensor) -> tf.Tensor:
    """Allows each position to look at its own sentence.

    Args:
        targets: int32 `[batch, targets]`, sentence numbers from 1, 0 at padding.
        sources: int32 `[batch, sources]`, likewise.

    Returns:
        bool `[batch, 1, targets, sources]`, the second axis for the heads.

    >>> same_segment(tf.constant([[1, 2, 0]]), tf.constant([[2, 1]])).numpy().tolist()
    [[[[False, True], [True, False], [False, False]]]]
    """
    equal = targets[:, None, :, None] == sources[:, None, None, :]
    return equal & (sources != 0)[:, None, None, :]
