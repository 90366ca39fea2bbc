"""How much of the rate at which a device multiplies matrices training makes use of."""

import functools
import time

import ml_collections
import tensorflow as tf

from cmlm_tf.modeling.config import TransformerConfig

_PRODUCT_SIZE = {True: 8192, False: 1024}  # by whether there is a GPU
_PRODUCTS = 10


class MatrixRate:
    """Compares the matrix products of updates with one large product.

    Attributes:
        operations: of an update's products.
    """

    def __init__(
        self, config: ml_collections.ConfigDict, sizes: TransformerConfig, devices: int
    ):
        """Takes a run's config, its model's sizes and how many share an update."""
        self._dtype, self._devices = config.training.dtype, devices
        positions = config.data.tokens_per_batch
        self.operations = update_operations(sizes, positions, config.role)

    @property
    def measured(self) -> float:
        """Operations per second of large products; the first time takes a moment."""
        return _product_rate(self._dtype)

    def share(self, updates_per_second: float) -> float:
        """Returns the share of the devices' measured rate, 0 to 1."""
        return self.operations * updates_per_second / self.measured / self._devices


def update_operations(sizes: TransformerConfig, positions: int, role: str) -> float:
    """Returns the operations of an update's products, attention's own left out.

    Three products of each weight, forward and backward, two operations a weight and
    position (of targets, padding included, and as many sources); the student's
    vocabulary at half of the positions.

    >>> sizes = TransformerConfig(vocab_size=16, model_dim=2, num_heads=1,
    ...     feed_forward_dim=3, num_encoder_layers=1, num_decoder_layers=1)
    >>> update_operations(sizes, 1, "teacher") / 6  # 16 + 12, 24 + 12, 8 and 32
    104.0
    """
    dim, inner = sizes.model_dim, sizes.feed_forward_dim
    encoder = sizes.num_encoder_layers * (4 * dim * dim + 2 * dim * inner)
    decoder = sizes.num_decoder_layers * (8 * dim * dim + 2 * dim * inner)
    vocabulary = (1.0 if role == "teacher" else 0.5) * sizes.vocab_size * dim
    return 6.0 * positions * (encoder + decoder + vocabulary)


@functools.cache
def _product_rate(dtype: str) -> float:
    size = _PRODUCT_SIZE[bool(tf.config.list_physical_devices("GPU"))]
    compute = tf.bfloat16 if "bfloat16" in dtype else tf.float32
    # Stateless: the random numbers of the training stay what they are.
    x = tf.cast(tf.random.stateless_normal([size, size], seed=[1, 2]), compute)

    @tf.function
    def multiply(x):
        y = x
        for _ in range(_PRODUCTS):
            y = tf.matmul(x, y) * 1e-2
        return tf.cast(y[0, 0], tf.float32)

    float(multiply(x))
    start, repeats = time.perf_counter(), 3
    for _ in range(repeats):
        float(multiply(x))
    seconds = (time.perf_counter() - start) / repeats
    return _PRODUCTS * 2 * size**3 / seconds
