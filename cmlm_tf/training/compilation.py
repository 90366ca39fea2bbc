"""XLA's programs for batches of several shapes, compiled before the first update."""

import time
from collections.abc import Sequence

import keras
import tensorflow as tf
from absl import logging


class ShapeCompilation(keras.callbacks.Callback):
    """Compiles for all shapes at the same time when training begins.

    Otherwise each is compiled when its first batch comes, one after the other.
    """

    def __init__(
        self, spec: dict[str, tf.TensorSpec], shapes: Sequence[tuple[int, int]]
    ):
        """Compiles nothing yet; see `TrainingModel.compile_shapes`."""
        super().__init__()
        self._spec, self._shapes = spec, shapes

    def on_train_begin(self, logs=None):
        """Compiles and reports how long it took."""
        start = time.monotonic()
        self.model.compile_shapes(self._spec, self._shapes)
        logging.info(
            "compiled for batches of %s side by side: %.1f s",
            " and ".join(f"{rows} x {length}" for rows, length in self._shapes),
            time.monotonic() - start,
        )
