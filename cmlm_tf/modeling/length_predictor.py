"""The classifier that predicts the target length (paper, section 2)."""

import keras
import tensorflow as tf

from cmlm_tf.modeling.layers import dense


class LengthPredictor(keras.layers.Layer):
    """Predicts N, the number of target subwords, from the encoder's states.

    Class i stands for length i + 1. The states of a sentence are averaged and
    go through one hidden layer.
    """

    def __init__(self, max_length: int, model_dim: int, dropout: float, **kwargs):
        """Makes the layers for lengths 1 to `max_length`."""
        super().__init__(**kwargs)
        self.hidden = dense(model_dim, model_dim, "relu")
        self.classes = dense(model_dim, max_length)
        self.dropout = keras.layers.Dropout(dropout)
        self.build([None, None, model_dim])

    def compute_output_shape(self, input_shape):
        """Puts the number of lengths in the width's place, for `summary`."""
        return *input_shape[:-1], self.classes.units

    def call(
        self, memory: tf.Tensor, segments: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """Predicts the length of every sentence.

        Args:
            memory: float `[batch, sources, model_dim]`, encoder states.
            segments: int32 `[batch, sources]`, sentence numbers, 0 at padding.
            training: whether dropout is on.

        Returns:
            float32 `[batch, sources, max_length]`: at each position the logits
            of the sentence that it belongs to, equal within a sentence.
        """
        pooled = self.dropout(segment_means(memory, segments), training=training)
        return tf.cast(self.classes(self.hidden(pooled)), tf.float32)

    def predict_sentences(self, memory: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Predicts for one sentence a row.

        Args:
            memory: float `[batch, sources, model_dim]`.
            valid: bool `[batch, sources]`, True where not padding.

        Returns:
            float32 `[batch, max_length]` logits.
        """
        weights = tf.cast(valid, memory.dtype)[:, :, None]
        count = tf.maximum(tf.reduce_sum(weights, 1), 1)
        pooled = tf.reduce_sum(memory * weights, 1) / count
        return tf.cast(self.classes(self.hidden(pooled)), tf.float32)


def segment_means(x: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    """Averages over the sentence that each position belongs to.

    Args:
        x: float `[batch, length, dim]`.
        segments: int32 `[batch, length]`, sentence numbers, 0 at padding.

    Returns:
        float `[batch, length, dim]`; zeros at padding.

    >>> x = tf.constant([[[1.0], [3.0], [5.0], [7.0]]])
    >>> segment_means(x, tf.constant([[1, 1, 2, 0]])).numpy().ravel().tolist()
    [2.0, 2.0, 5.0, 0.0]
    """
    same = (segments[:, :, None] == segments[:, None, :]) & (segments != 0)[:, None, :]
    weights = tf.cast(same, x.dtype)
    count = tf.maximum(tf.reduce_sum(weights, -1, keepdims=True), 1)
    return tf.matmul(weights / count, x)
