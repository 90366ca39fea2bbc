"""The student: no causal mask, the teacher's encoder, packed equals padded."""

import functools
import itertools

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.errors import UserError
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.initialization import initialize_from, named_weights
from cmlm_tf.modeling.output import best_tokens
from cmlm_tf.modeling.passes import DynamicPasses, StaticPasses
from cmlm_tf.modeling.student import ConditionalMaskedLM
from tests.modeling.small import (
    CONFIG,
    make_student,
    make_teacher,
    random_sources,
    sentence_batch,
)

MASK = 4


@functools.cache
def predicting_student():
    return make_student()


@functools.cache
def predicted_rows(candidates):
    """Sources, and targets of any length with some positions masked."""
    sources = random_sources(5, 7)
    rng = np.random.default_rng(3)
    rows, length = 5 * candidates, 9
    valid = np.arange(length) < rng.integers(0, length + 1, size=[rows, 1])
    masked = valid & (rng.random([rows, length]) < 0.5)
    masked[:candidates] = False
    words = rng.integers(5, 48, size=[rows, length])
    ids = np.where(valid, np.where(masked, MASK, words), 0).astype(np.int32)
    return sources, ids, valid, masked


@functools.cache
def padded_outputs(candidates):
    """What the padded model returns for the same rows."""
    sources, ids, valid, _ = predicted_rows(candidates)
    batch = sentence_batch(np.repeat(sources, candidates, 0), ids, valid)
    return predicting_student()(batch)


class StudentTest(tf.test.TestCase, parameterized.TestCase):
    def test_a_prediction_depends_on_every_position(self):
        student = make_student()
        sources = random_sources(2, 6)
        ids = np.full([2, 6], MASK, np.int32)
        valid = np.ones_like(ids) > 0
        before, _ = student(sentence_batch(sources, ids, valid))
        for changed in range(6):
            other = ids.copy()
            other[:, changed] = 17
            after, _ = student(sentence_batch(sources, other, valid))
            for position in range(6):
                self.assertNotAllClose(before[:, position], after[:, position])

    def test_the_teachers_weights_come_over(self):
        teacher, student = make_teacher(seed=1), make_student(seed=2)
        report = initialize_from(student, teacher)
        sources = tf.constant(random_sources(3, 7))
        self.assertAllEqual(
            student.encode_sentences(sources), teacher.encode_sentences(sources)
        )
        parts = itertools.product(("hidden", "classes"), ("kernel", "bias"))
        new = ", ".join(f"length_predictor/{layer}/{part}" for layer, part in parts)
        count = len(teacher.weights)
        self.assertEqual(report, f"{count} weights copied; new: {new}")

    def test_every_weight_has_a_name(self):
        student = make_student()
        names = dict(named_weights(student))
        self.assertLen(names, len(student.weights))
        self.assertIn("decoder/layers/1/memory_attention/key_value/kernel", names)

    @parameterized.parameters(
        ("vocab_size", 56, 48), ("num_heads", 4, 2), ("num_decoder_layers", 1, 2)
    )
    def test_other_sizes_are_refused_by_name(self, name, own, theirs):
        teacher = make_teacher()
        sizes = {**CONFIG.__dict__, name: own}
        student = ConditionalMaskedLM(TransformerConfig(**sizes))
        with self.assertRaisesRegex(
            UserError, f"model.{name} is {own} here, {theirs} "
        ):
            initialize_from(student, teacher)

    def test_dropout_and_length_may_be_others(self):
        sizes = {**CONFIG.__dict__, "dropout": 0.5, "max_length": 12}
        student = ConditionalMaskedLM(TransformerConfig(**sizes))
        initialize_from(student, make_teacher())

    @parameterized.product(
        static=[False, True],
        chunks=[(1,), (1, 4), (2, 5, 8192)],
        candidates=[1, 3],
    )
    def test_passes_equal_the_padded_model(self, static, chunks, candidates):
        student = predicting_student()
        if static:  # Of one sentence or more.
            tokens = [chunk * candidates * 9 // 2 for chunk in chunks]
            passes = StaticPasses(student, tokens, chunks)
        else:
            passes = DynamicPasses(student, chunks[-1] * CONFIG.vocab_size)
        sources, ids, valid, masked = predicted_rows(candidates)
        cache, length_logits = student.start(tf.constant(sources))
        predict = passes.predict_fn(cache, candidates)
        found, log_probs = tf.function(predict, autograph=False, jit_compile=static)(
            tf.constant(ids), tf.constant(masked)
        )
        logits, whole_lengths = padded_outputs(candidates)
        expected, expected_log_probs = best_tokens(logits, student.banned_ids)
        self.assertAllEqual(found[masked], expected[masked])
        self.assertAllClose(log_probs[masked], expected_log_probs[masked], atol=1e-4)
        self.assertAllClose(length_logits, whole_lengths[::candidates, 0], atol=1e-4)

    @parameterized.parameters(1, 4, 8192)
    def test_one_size_is_bit_equal_whatever_is_wanted(self, chunk):
        passes = StaticPasses(predicting_student(), [chunk * 9], [chunk])
        sources, ids, _, masked = predicted_rows(1)
        cache, _ = predicting_student().start(tf.constant(sources))
        predict = passes.predict_fn(cache, 1)
        predict = tf.function(predict, autograph=False, jit_compile=True)
        _, expected = predict(tf.constant(ids), tf.constant(masked))
        for row in np.flatnonzero(masked.any(axis=1)):
            wanted = masked & (np.arange(len(masked)) == row)[:, None]
            _, alone = predict(tf.constant(ids), tf.constant(wanted))
            self.assertAllEqual(alone[wanted], expected[wanted])

    def test_log_probs_are_of_a_proper_distribution(self):
        rng = np.random.default_rng(0)
        logits = rng.normal(size=[50, 12]).astype(np.float32) * 9
        banned = (0, 2, 3, 4)
        ids, log_probs = best_tokens(tf.constant(logits), banned)
        weights = np.exp(logits.astype(np.float64))
        weights[:, banned] = 0.0
        self.assertAllEqual(ids, weights.argmax(1))
        expected = np.log(weights.max(1) / weights.sum(1))
        self.assertAllClose(log_probs, expected, atol=1e-5)
