"""All weights of a model as one argument of a compiled function.

To start a compiled function takes time for each variable that it reads: with the
some 200 of a Transformer, as long as two passes over one sentence.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence

import keras
import tensorflow as tf

from cmlm_tf.utils.xla_flags import prefer_xla_flag

# With it a GPU's matrix product reads its weights where they lie in the vector;
# without, XLA copies them before.
prefer_xla_flag("--xla_gpu_enable_dynamic_slice_fusion=true")


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
            dtype: tf.Variable(to_vector(weights), trainable=False)
            for dtype, weights in self._weights.items()
        }

    def copy(self) -> None:
        """Copies the weights again, after they were changed."""
        for dtype, weights in self._weights.items():
            self.vectors[dtype].assign(to_vector(weights))

    def bind(self, function: Callable) -> Callable:
        """Returns the same function, for which the model has the copied weights.

        As a graph it reads the vectors and none of the model's variables.

        Args:
            function: computes with the model.
        """

        @functools.wraps(function)
        def bound(*args, **kwargs):
            with _VectorScope(self._weights, self.vectors):
                return function(*args, **kwargs)

        return bound


class _VectorScope(keras.StatelessScope):
    """Reads weights, and does not write them, as parts of vectors.

    They are cut out where they are used. Cut out before a loop, all of them would be
    copied, as what a loop is given lies in places of its own.
    """

    def __init__(
        self,
        weights: Mapping[str, Sequence[keras.Variable]],
        vectors: Mapping[str, tf.Variable],
    ):
        super().__init__()
        self._parts: dict[int, tuple[tf.Tensor, int]] = {}
        for dtype, variables in weights.items():
            vector, start = tf.convert_to_tensor(vectors[dtype]), 0
            for variable in variables:
                self._parts[id(variable)] = vector, start
                start += math.prod(variable.shape)

    def get_current_value(self, variable: keras.Variable) -> tf.Tensor | None:
        """Returns a weight's value, None for a variable that is no weight."""
        if id(variable) not in self._parts:
            return super().get_current_value(variable)
        vector, start = self._parts[id(variable)]
        part = tf.slice(vector, [start], [math.prod(variable.shape)])
        return tf.reshape(part, variable.shape)


def to_vector(values: Sequence[tf.Tensor | keras.Variable]) -> tf.Tensor:
    """Returns the values, of one dtype, one after the other: `[elements]`."""
    return tf.concat([tf.reshape(value, [-1]) for value in values] or [[]], axis=0)


def from_vector(
    vector: tf.Tensor, variables: Sequence[keras.Variable]
) -> list[tf.Tensor]:
    """Returns each variable's part of what `to_vector` made, in its shape."""
    sizes = [math.prod(variable.shape) for variable in variables]
    parts = tf.split(vector, sizes) if sizes else []
    return [
        tf.reshape(part, variable.shape)
        for part, variable in zip(parts, variables, strict=True)
    ]
