"""Target masks: exact in number, uniform in size and place, repeatable."""

import math

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.data.masking import (
    mask_targets,
    sample_target_mask,
    shift_right,
    smallest_keys,
)
from cmlm_tf.special_ids import BOS_ID, EOS_ID, MASK_ID, PAD_ID


def random_segments(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Rows of sentences of random lengths, some rows full, some empty."""
    segments = np.zeros((rows, length), np.int32)
    for row in segments:
        place, number = 0, 1
        used = rng.integers(0, length + 1)
        while place < used:
            size = rng.integers(1, used - place + 1)
            row[place : place + size] = number
            place, number = place + size, number + 1
    return segments


def loop_oracle(segments, keys, draws) -> np.ndarray:
    """The rule, sentence by sentence: sort by (key, place), take the first S."""
    mask = np.zeros(segments.shape, bool)
    for row in range(len(segments)):
        for number in range(1, segments[row].max(initial=0) + 1):
            places = np.flatnonzero(segments[row] == number).tolist()
            count = 1 + int(draws[row, number]) % len(places)
            chosen = sorted(places, key=lambda i: (keys[row, i], i))[:count]
            mask[row, chosen] = True
    return mask


def sample_many(segments: np.ndarray, num_draws: int, seed: int = 1) -> np.ndarray:
    """Draws masks for many copies of the rows: bool `[num_draws, rows, length]`."""
    copies = np.tile(segments, (num_draws, 1))
    mask = sample_target_mask(tf.constant(copies), tf.constant([seed, 2]))
    return mask.numpy().reshape(num_draws, *segments.shape)


def chi_squared(observed: np.ndarray) -> float:
    expected = observed.sum() / observed.size
    return float(((observed - expected) ** 2 / expected).sum())


class SmallestKeysTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(1, 2, 1000)
    def test_equals_a_loop_with_and_without_ties(self, num_distinct_keys):
        rng = np.random.default_rng(num_distinct_keys)
        for length in (1, 2, 7, 32):
            segments = random_segments(rng, 200, length)
            keys = rng.integers(0, num_distinct_keys, segments.shape, np.int32)
            draws = rng.integers(-(2**31), 2**31, (200, length + 1)).astype(np.int32)
            mask = smallest_keys(segments, tf.constant(keys), tf.constant(draws))
            self.assertAllEqual(mask, loop_oracle(segments, keys, draws))


class SampleTargetMaskTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(1, 2, 5, 12)
    def test_the_number_of_masked_tokens_is_uniform_on_1_to_n(self, num_tokens):
        segments = np.array([[1] * num_tokens + [2] * num_tokens + [0, 0]], np.int32)
        masks = sample_many(segments, 12_000)[:, 0]
        for first in (0, num_tokens):
            sizes = masks[:, first : first + num_tokens].sum(axis=1)
            counts = np.bincount(sizes, minlength=num_tokens + 1)
            self.assertEqual(counts[0], 0)
            # 5 standard deviations above the mean of chi-squared.
            bound = num_tokens - 1 + 5 * np.sqrt(2 * num_tokens)
            self.assertLess(chi_squared(counts[1:]), bound)

    @parameterized.parameters(1, 2, 3, 4)
    def test_all_choices_of_so_many_places_are_as_likely(self, size):
        masks = sample_many(np.ones((1, 5), np.int32), 30_000)[:, 0]
        chosen = masks[masks.sum(axis=1) == size]
        _, counts = np.unique(chosen, axis=0, return_counts=True)
        freedom = math.comb(5, size) - 1
        self.assertLen(counts, freedom + 1)
        self.assertLess(chi_squared(counts), freedom + 5 * np.sqrt(2 * freedom))

    def test_sentences_of_a_row_are_independent(self):
        segments = np.array([[1] * 8 + [2] * 8], np.int32)
        masks = sample_many(segments, 20_000)[:, 0]
        sizes = masks[:, :8].sum(axis=1), masks[:, 8:].sum(axis=1)
        self.assertLess(abs(np.corrcoef(*sizes)[0, 1]), 5 / np.sqrt(20_000))

    def test_every_sentence_has_a_masked_token_and_padding_none(self):
        segments = random_segments(np.random.default_rng(5), 500, 24)
        mask = sample_target_mask(tf.constant(segments), tf.constant([3, 4])).numpy()
        self.assertFalse(mask[segments == 0].any())
        for row, row_mask in zip(segments, mask, strict=True):
            self.assertAllEqual(np.unique(row[row_mask]), np.unique(row[row > 0]))

    def test_the_seed_decides(self):
        segments = tf.ones([50, 20], tf.int32)
        first, again, other = (
            sample_target_mask(segments, tf.constant([seed, 0])) for seed in (1, 1, 2)
        )
        self.assertAllEqual(first, again)
        self.assertNotAllEqual(first, other)

    def test_eager_graph_and_xla_agree(self):
        segments = tf.constant(random_segments(np.random.default_rng(6), 64, 32))
        seed = tf.constant([7, 8])
        expected = sample_target_mask(segments, seed)
        for jit_compile in (False, True):
            function = tf.function(sample_target_mask, jit_compile=jit_compile)
            self.assertAllEqual(function(segments, seed), expected)


class DecoderInputTest(tf.test.TestCase):
    def test_mask_targets(self):
        ids = tf.constant([[7, 8, 9], [5, 6, PAD_ID]])
        mask = tf.constant([[True, False, True], [False, True, False]])
        masked = mask_targets(ids, mask)
        self.assertEqual(masked.dtype, tf.int32)
        self.assertAllEqual(masked, [[MASK_ID, 8, MASK_ID], [5, MASK_ID, PAD_ID]])

    def test_shift_right_equals_a_loop(self):
        rng = np.random.default_rng(7)
        segments = random_segments(rng, 100, 16)
        ids = np.where(segments > 0, rng.integers(5, 99, segments.shape), PAD_ID)
        positions, expected = np.zeros_like(segments), np.full(ids.shape, PAD_ID)
        for row in range(len(ids)):
            for number in range(1, segments[row].max() + 1):
                places = np.flatnonzero(segments[row] == number)
                ids[row, places[-1]] = EOS_ID
                positions[row, places] = np.arange(len(places))
                expected[row, places] = [BOS_ID, *ids[row, places[:-1]]]
        shifted = shift_right(tf.constant(ids, tf.int32), tf.constant(positions))
        self.assertEqual(shifted.dtype, tf.int32)
        self.assertAllEqual(shifted, expected)
