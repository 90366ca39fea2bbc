"""Subwords to vectors and back (Vaswani et al., 2017, sections 3.4 and 3.5)."""

import contextlib
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from cmlm_tf.modeling.config import TransformerConfig


class SharedEmbedding(keras.layers.Layer):
    """One table for source, target and output, and sinusoidal positions.

    Attributes:
        table: the weights, `[vocab_size, model_dim]`.
        output_table: of `output_copy`, what `logits` reads instead, or None.
    """

    def __init__(self, config: TransformerConfig, **kwargs):
        """Makes the table and the positions."""
        super().__init__(**kwargs)
        self._scale = config.model_dim**0.5
        self._positions = sinusoidal_positions(config.max_length, config.model_dim)
        self.table = self.add_weight(
            name="table",
            shape=[config.vocab_size, config.model_dim],
            initializer=keras.initializers.RandomNormal(stddev=config.model_dim**-0.5),
            autocast=False,
        )
        self.output_table: tf.Variable | None = None
        self.build([None, None])

    def compute_output_shape(self, input_shape):
        """Adds the model's width, for `summary`."""
        return *input_shape, self.table.shape[1]

    def output_copy(self) -> tf.Variable:
        """Copies the table, as `[model_dim, vocab_size]`, which suits a CPU."""
        table = tf.cast(tf.convert_to_tensor(self.table), self.compute_dtype)
        return tf.Variable(tf.transpose(table), trainable=False)

    @contextlib.contextmanager
    def reading(self, output_table: tf.Variable | None) -> Iterator[None]:
        """Lets `logits` read a copy inside; None for the table itself."""
        before, self.output_table = self.output_table, output_table
        try:
            yield
        finally:
            self.output_table = before

    def call(self, ids: tf.Tensor, positions: tf.Tensor) -> tf.Tensor:
        """Embeds subwords at positions.

        Args:
            ids: int32 of any shape.
            positions: int32 of the same shape, 0 for a sentence's first
                subword, below `max_length`.

        Returns:
            float `[..., model_dim]` in the layer's compute dtype.
        """
        # Gathered before it is cast: the gradient of an id that occurs ten
        # thousand times in a batch must not be summed in bfloat16.
        embedded = tf.gather(tf.convert_to_tensor(self.table), ids)
        embedded = tf.cast(embedded, tf.float32) * self._scale
        embedded += tf.gather(tf.constant(self._positions), positions)
        return tf.cast(embedded, self.compute_dtype)

    def logits(self, states: tf.Tensor) -> tf.Tensor:
        """Maps `[..., model_dim]` to float32 logits `[..., vocab_size]`."""
        vocab_size, dim = self.table.shape
        flat = tf.reshape(states, [-1, dim])
        if self.output_table is None:
            table = tf.cast(tf.convert_to_tensor(self.table), self.compute_dtype)
            # With the table on the left a CPU takes half the time for few states.
            logits = tf.transpose(tf.matmul(table, flat, transpose_b=True))
        else:
            logits = tf.matmul(flat, self.output_table)
        logits = tf.cast(logits, tf.float32)
        return tf.reshape(logits, tf.concat([tf.shape(states)[:-1], [vocab_size]], 0))


def sinusoidal_positions(length: int, model_dim: int) -> np.ndarray:
    """Returns the position table of Vaswani et al. (2017), section 3.5.

    Args:
        length: number of positions.
        model_dim: width; even.

    Returns:
        float32 `[length, model_dim]`, sines in the first half, cosines in the
        second.

    >>> [f"{x:.4f}" for x in sinusoidal_positions(2, 2)[1]]  # sin(1), cos(1)
    ['0.8415', '0.5403']
    """
    rates = 10000.0 ** (-np.arange(0, model_dim, 2) / model_dim)
    angles = np.arange(length)[:, None] * rates[None, :]
    table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return table.astype(np.float32)
