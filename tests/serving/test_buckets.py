"""The compiled form: few shapes, no dynamic op, the same results."""

import itertools

import numpy as np
import tensorflow as tf

from cmlm_tf.serving.buckets import BATCH_SIZES, BEAMS, CompiledEngine
from cmlm_tf.serving.engine import Engine, asked_lengths
from cmlm_tf.serving.requests import Request, option_defaults, read_request
from cmlm_tf.special_ids import MASK_ID
from tests.modeling.small import CONFIG, make_student, random_sources

STUDENT = make_student(seed=5, spread=4.0)
COMPILED = CompiledEngine(STUDENT, jit_compile=True, max_length_beam=10)


def decode(engine):
    """Decodes three sentences, the last one blank, with a beam for each."""
    options = option_defaults() | {"length_beam": tf.constant([3, 5, 1])}
    request = read_request(tf.constant(3), options, CONFIG.max_length)
    sources = random_sources(3, 9, seed=2)
    sources[2] = 0
    cache, logits = engine.start(tf.constant(sources))
    blank = tf.constant([False, False, True])
    return engine.unmask(cache, asked_lengths(logits, blank, request), request)


def shapes():
    """Every bucket: batch size, length, candidates."""
    return itertools.product(BATCH_SIZES, COMPILED.lengths, BEAMS)


def hlo(name, *arguments):
    """The program that XLA compiles for the CPU."""
    function = COMPILED.functions[name]
    return function.experimental_get_compiler_ir(*arguments)(stage="hlo")


class BucketsTest(tf.test.TestCase):
    def test_padding_and_cutting_change_nothing(self):
        expected = decode(Engine(STUDENT))
        found = tf.function(lambda: decode(COMPILED), autograph=False)()
        for name in ("best", "lengths", "token_ids", "num_iterations"):
            self.assertAllEqual(getattr(found, name), getattr(expected, name))
        self.assertAllClose(found.scores, expected.scores, atol=1e-4)

    def test_every_shape_compiles_and_none_is_dynamic(self):
        # A bounded dynamic dimension is written as [<=8].
        for batch, length, beam in shapes():
            sources = tf.zeros([batch, length], tf.int32)
            if beam == 1:
                program = hlo("cmlm_start", sources)
                self.assertIn(f"s32[{batch},{length}]", program)
                self.assertNotIn("<=", program)
            cache, _ = STUDENT.start(sources)
            ones = tf.ones([batch], tf.int32)
            request = Request(ones, tf.ones([batch]), ones, ones)
            grid = tf.fill([batch, beam, length], MASK_ID)
            lengths = tf.zeros([batch, beam], tf.int32)
            program = hlo("cmlm_translate", cache, lengths, request, grid)
            self.assertIn(f"s32[{batch * beam},{length}]", program)
            self.assertNotIn("<=", program)

    def test_buckets_are_those_of_the_model(self):
        self.assertEqual(COMPILED.lengths, (16, 24))
        self.assertEqual(COMPILED.beams, (1, 5, 10))
        rows = {1: 1, 2: 8, 8: 8, 9: 64, 64: 64, 65: 128, 129: 192}
        for size, padded in rows.items():
            cache, logits = COMPILED.start(tf.constant(np.full([size, 3], 7, np.int32)))
            self.assertEqual(cache.valid.shape, [padded, 16])
            self.assertEqual(logits.shape[0], size)


if __name__ == "__main__":
    tf.test.main()
