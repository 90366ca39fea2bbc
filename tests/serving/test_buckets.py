"""The compiled form: few shapes, no dynamic op, the same results."""

import dataclasses
import itertools

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.modeling.student import ConditionalMaskedLM
from cmlm_tf.serving.buckets import BATCH_SIZES, CompiledEngine
from cmlm_tf.serving.engine import Engine, asked_lengths
from cmlm_tf.serving.requests import Request, option_defaults, read_request
from cmlm_tf.special_ids import MASK_ID
from tests.modeling.small import CONFIG, make_student, random_sources

STUDENT = make_student(seed=5, spread=4.0)
CONTINUING = list(range(MASK_ID + 2, CONFIG.vocab_size, 2))
COMPILED = CompiledEngine(STUDENT, CONTINUING, jit_compile=True, max_length_beam=10)


def random_targets(shape, share, seed=3):
    """Random subwords where the share of positions is not MASK."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(MASK_ID + 1, CONFIG.vocab_size, size=shape)
    return tf.constant(np.where(rng.random(shape) < share, ids, MASK_ID), tf.int32)


def decode(engine, name):
    """Decodes three sentences, the last one blank, with a beam for each."""
    options = option_defaults() | {"length_beam": tf.constant([3, 5, 1])}
    request = read_request(tf.constant(3), options, CONFIG.max_length)
    sources = random_sources(3, 9, seed=2)
    sources[2] = 0
    cache, logits = engine.start(tf.constant(sources))
    blank = tf.constant([False, False, True])
    lengths = asked_lengths(logits, blank, request)
    given = {}
    if name == "score":
        lengths = lengths[:, :1]
        given["forced_ids"] = random_targets([3, 1, CONFIG.max_length], share=1.0)
    elif name == "complete":
        given["initial_ids"] = random_targets([3, 5, CONFIG.max_length], share=0.5)
        given["begins_word"] = given["initial_ids"] == MASK_ID
    elif name == "trace":
        return engine.unmask(cache, lengths, request, trace=True)
    longest = tf.reduce_max(lengths)
    inside = tf.sequence_mask(lengths, longest)
    given = {
        n: tf.where(inside, grid[:, :, :longest], tf.zeros([], grid.dtype))
        for n, grid in given.items()
    }
    return engine.unmask(cache, lengths, request, **given)


def shapes():
    """Every bucket: batch size, length, candidates."""
    return itertools.product(BATCH_SIZES, COMPILED.lengths, COMPILED.beams)


def inputs_of_functions(student, batch, length, beam):
    """The compiled functions' names, each with its inputs in a bucket."""
    sources = tf.zeros([batch, length], tf.int32)
    cache, _ = student.start(sources)
    ones = tf.ones([batch], tf.int32)
    request = Request(ones, tf.ones([batch]), ones, ones)
    grid = tf.fill([batch, beam, length], MASK_ID)
    inputs = [cache, tf.zeros([batch, beam], tf.int32), request, grid]
    return [
        ("cmlm_start", [sources]),
        ("cmlm_translate", inputs),
        ("cmlm_complete", [*inputs, grid == 0]),
        ("cmlm_score", inputs),
    ]


def trace_for_any_shape(engine, student):
    """Traces the compiled functions as an export does: sizes are not known."""

    def any_size(x):
        # Heads, and the size of each, are the model's.
        shape = [None, x.shape[1], None, x.shape[3]] if x.shape.rank == 4 else None
        return tf.TensorSpec(shape or [None] * x.shape.rank, x.dtype)

    for name, inputs in inputs_of_functions(student, 1, 16, 1):
        specs = tf.nest.map_structure(any_size, inputs)
        engine.functions[name].get_concrete_function(*specs)


def hlo(engine, name, *arguments):
    """The program that XLA compiles for the CPU."""
    function = engine.functions[name]
    return function.experimental_get_compiler_ir(*arguments)(stage="hlo")


class BucketsTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters("translate", "complete", "score")
    def test_padding_and_cutting_change_nothing(self, name):
        expected = decode(Engine(STUDENT, CONTINUING), name)
        found = tf.function(lambda: decode(COMPILED, name), autograph=False)()
        for name in ("best", "lengths", "token_ids", "num_iterations"):
            self.assertAllEqual(getattr(found, name), getattr(expected, name))
        self.assertAllClose(found.scores, expected.scores, atol=1e-4)

    def test_a_subword_that_begins_a_word_continues_none(self):
        for begin in (True, False):
            grid = tf.fill([1, 1, 12], MASK_ID)
            places = np.zeros([1, 1, 12], bool)
            places[..., ::3] = begin
            engine = Engine(STUDENT, CONTINUING)
            request = read_request(tf.constant(1), option_defaults(), 5)
            cache, _ = engine.start(tf.constant(random_sources(1, 9, seed=2)))
            found = engine.unmask(
                *(cache, tf.constant([[12]]), request),
                initial_ids=grid,
                begins_word=tf.constant(places),
            )
            is_continuing = np.isin(found.token_ids[0, 0], CONTINUING)
            self.assertEqual(is_continuing[::3].any(), not begin)
            self.assertTrue(is_continuing[1::3].any())

    def test_every_shape_compiles_and_none_is_dynamic(self):
        # A bounded dynamic dimension is written as [<=8].
        config = dataclasses.replace(CONFIG, num_encoder_layers=1, num_decoder_layers=1)
        student = ConditionalMaskedLM(config)
        engine = CompiledEngine(student, [9], jit_compile=True, max_length_beam=10)
        trace_for_any_shape(engine, student)
        for batch, length, beam in shapes():
            for name, inputs in inputs_of_functions(student, batch, length, beam):
                # Sources have no beam, and a target has one length.
                if beam > 1 and name in ("cmlm_start", "cmlm_score"):
                    continue
                program = hlo(engine, name, *inputs)
                self.assertIn(f"s32[{batch * beam},{length}]", program)
                self.assertNotIn("<=", program)

    def test_compiled_functions_and_traces_read_one_vector_alone(self):
        (vector,) = COMPILED.weights
        self.assertEqual(vector.shape, [STUDENT.count_params()])
        trace = tf.function(lambda: decode(COMPILED, "trace"), autograph=False)
        graphs = [trace.get_concrete_function()]
        for name, inputs in inputs_of_functions(STUDENT, 1, 16, 1):
            graphs.append(COMPILED.functions[name].get_concrete_function(*inputs))
        for graph in graphs:
            (read,) = graph.captured_inputs
            self.assertIs(read, vector.handle)

    def test_buckets_are_those_of_the_model(self):
        self.assertEqual(COMPILED.lengths, (16, 24))
        self.assertEqual(COMPILED.beams, (1, 5, 10))
        engine = CompiledEngine(STUDENT, [9], jit_compile=False, max_length_beam=10)
        rows = {1: 1, 2: 8, 8: 8, 9: 64, 64: 64, 65: 128, 129: 192}
        for size, padded in rows.items():
            cache, logits = engine.start(tf.constant(np.full([size, 3], 7, np.int32)))
            self.assertEqual(cache.valid.shape, [padded, 16])
            self.assertEqual(logits.shape[0], size)


if __name__ == "__main__":
    tf.test.main()
