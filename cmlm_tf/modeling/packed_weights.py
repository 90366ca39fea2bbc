"""All weights of a model as one argument of a compiled function.

To start a compiled function takes time for each variable that it reads: with the
some 200 of a Transformer, as long as two passes over one sentence.
"""

import functools
import math
from collections.abc import Callable, Sequence

import keras
import tensorflow as tf


class PackedWeights:
    """A copy of a model's weights, one vector for each dtype.

    Attributes:
        vectors: the copy by dtype, each a variable `[elements]`.
    """

    def __init__(self, model: keras.Model):
        """Copies the weights.

        Args:
            model: with its weights made.
        """
        self._weights: dict[str, list[keras.Variable]] = {}
        for weight in model.weights:
            self._weights.setdefault(weight.dtype, []).append(weight)
        self.vectors = {
            dtype: tf.Variable(pack(weights), trainable=False)
            for dtype, weights in self._weights.items()
        }

    def copy(self) -> None:
        """Copies the weights again, after they were changed."""
        for dtype, weights in self._weights.items():
            self.vectors[dtype].assign(pack(weights))

    def bind(self, function: Callable) -> Callable:
        """Returns the same function, for which the model has the copied weights.

        As a graph it reads the vectors and none of the model's variables.

        Args:
            function: computes with the model.
        """

        @functools.wraps(function)
        def bound(*args, **kwargs):
            with keras.StatelessScope(state_mapping=self._values()):
                return function(*args, **kwargs)

        return bound

    def _values(self) -> list[tuple[keras.Variable, tf.Tensor]]:
        values: list[tuple[keras.Variable, tf.Tensor]] = []
        for dtype, weights in self._weights.items():
            vector = tf.convert_to_tensor(self.vectors[dtype])
            values += zip(weights, unpack(vector, weights), strict=True)
        return values


def pack(values: Sequence[tf.Tensor | keras.Variable]) -> tf.Tensor:
    """Returns the values, of one dtype, one after the other: `[elements]`."""
    return tf.concat([tf.reshape(value, [-1]) for value in values] or [[]], axis=0)


def unpack(vector: tf.Tensor, variables: Sequence[keras.Variable]) -> list[tf.Tensor]:
    """Returns each variable's part of what `pack` made, in its shape."""
    sizes = [math.prod(variable.shape) for variable in variables]
    parts = tf.split(vector, sizes) if sizes else []
    return [
        tf.reshape(part, variable.shape)
        for part, variable in zip(parts, variables, strict=True)
    ]
