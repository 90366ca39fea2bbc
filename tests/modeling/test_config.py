"""Sizes are checked by name."""

import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.errors import UserError
from cmlm_tf.modeling.config import TransformerConfig


class TransformerConfigTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(
        ("vocab_size", 0),
        ("vocab_size", 12),
        ("vocab_size", "8"),
        ("model_dim", 20),
        ("model_dim", 2.5),
        ("num_heads", 3),
        ("num_encoder_layers", -1),
        ("dropout", 1.0),
        ("dropout", None),
        ("max_length", 1 << 20),
    )
    def test_a_bad_size_is_named(self, name, value):
        sizes = {"vocab_size": 16, name: value}
        name = "model_dim" if name == "num_heads" else name
        with self.assertRaisesRegex(UserError, f"model.{name} must be"):
            TransformerConfig(**sizes)
