"""A model computes the same with its packed weights, and reads nothing else."""

import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.modeling.layers import dtype_policy
from cmlm_tf.modeling.packed_weights import PackedWeights
from tests.modeling.small import make_student, random_sources


class PackedWeightsTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters("float32", "bfloat16", "mixed_bfloat16")
    def test_function_reads_the_copy_alone(self, dtype):
        with dtype_policy(dtype):
            model = make_student()
        sources = tf.constant(random_sources(3, 9))
        expected = tf.function(model.encode_sentences, autograph=False)(sources)
        packed = PackedWeights(model)
        encode = tf.function(packed.bind(model.encode_sentences), autograph=False)
        for weight in model.weights:
            weight.assign(tf.zeros_like(weight.value))
        self.assertAllEqual(encode(sources), expected)
        read = encode.get_concrete_function(sources).captured_inputs
        self.assertLen(read, len({weight.dtype for weight in model.weights}))
        packed.copy()
        self.assertNotAllEqual(encode(sources), expected)

    def test_weights_outside_stay(self):
        model = make_student()
        bias = model.length_predictor.weights[-1]
        packed = PackedWeights(model)
        bias.assign(bias.value + 1)
        before = packed.bind(lambda: tf.identity(bias.value))()
        self.assertAllClose(bias.value - before, tf.ones_like(before))
