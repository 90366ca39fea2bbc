"""The operations of an update's matrix products, and a device's rate of large ones."""

import time

import ml_collections
import tensorflow as tf

from cmlm_tf.modeling.config import TransformerConfig

_PRODUCT_SIZE = {True: 8192, False: 1024}  # by whether there is a GPU
_PRODUCTS, _REPEATS = 10, 3


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


def product_rate(config: ml_collections.ConfigDict) -> float:
    """Measures large products in a training config's dtype: operations per second."""
    size = _PRODUCT_SIZE[bool(tf.config.list_physical_devices("GPU"))]
    compute = tf.bfloat16 if "bfloat16" in config.training.dtype else tf.float32
    x = tf.cast(tf.random.stateless_normal([size, size], seed=[1, 2]), compute)

    @tf.function
    def multiply(x):
        y = x
        for _ in range(_PRODUCTS):
            y = tf.matmul(x, y) * 1e-2
        return tf.cast(y[0, 0], tf.float32)

    float(multiply(x))
    start = time.perf_counter()
    for _ in range(_REPEATS):
        float(multiply(x))
    seconds = (time.perf_counter() - start) / _REPEATS
    return _PRODUCTS * 2 * size**3 / seconds
