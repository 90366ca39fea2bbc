"""Beam search against a plain Python search, on a table of random logits."""

import functools

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding.beam_search import Beam, beam_search
from tests.reference_beam import reference_beam_search

PAD, BOS, EOS, VOCAB = 0, 2, 3, 11
TABLE_SIZE = 1009
LONGEST = 11


class Table:
    """Next-token logits that depend on the sentence and on every prefix id."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        logits = rng.normal(scale=2.0, size=[TABLE_SIZE, VOCAB]).astype(np.float32)
        logits[:, [PAD, BOS]] = -np.inf
        logits[:, EOS] += rng.normal(scale=1.5)
        self.logits = logits

    @staticmethod
    def step(logits, ids, time, ancestors, cache):
        """Rebuilds each prefix from the pool of fed ids and its ancestors."""
        pool, sentence = cache["fed"], cache["sentence"]
        times = tf.shape(ancestors)[2]
        if pool.shape[1] is None or pool.shape[1] == 0:
            pool = tf.concat([pool, ids[:, None, :]], axis=1)
        else:
            at_time = (tf.range(tf.shape(pool)[1]) == time)[None, :, None]
            pool = tf.where(at_time, ids[:, None, :], pool)
        prefix = tf.gather(
            tf.transpose(pool, [0, 2, 1]),
            ancestors,
            axis=1,
            batch_dims=1,
        )
        own = tf.eye(times, dtype=tf.int32)
        prefix = tf.einsum("skjt,jt->skt", prefix, own)
        fed = tf.where(tf.range(times) <= time, prefix, 0)
        weights = 31 * tf.range(1, times + 1) ** 2 + 7
        key = tf.reduce_sum(fed * weights, axis=2) + 53 * sentence[:, None]
        logits = tf.gather(logits, key % TABLE_SIZE)
        return logits, {"fed": pool, "sentence": sentence}

    def next_log_probs(self, sentence, prefixes):
        """The same rule, prefix by prefix."""
        rows = []
        for prefix in prefixes:
            fed = [BOS, *prefix]
            key = sum(i * (31 * (t + 1) ** 2 + 7) for t, i in enumerate(fed))
            row = self.logits[(key + 53 * sentence) % TABLE_SIZE]
            rows.append(row - np.log(np.sum(np.exp(row))))
        return np.stack(rows)


@functools.cache
def graph_of(beam_size, mode):
    """The search as one graph for all tables, limits and alphas."""
    max_steps = None if mode == "grow" else LONGEST + 1

    @tf.function(autograph=False, jit_compile=mode == "xla")
    def run(logits, limits, alpha):
        batch = limits.shape[0]
        cache = {
            "fed": tf.zeros([batch, max_steps or 0, beam_size], tf.int32),
            "sentence": tf.range(batch),
        }
        beam = Beam(beam_size, alpha, BOS, EOS, PAD)
        step = functools.partial(Table.step, logits)
        return beam_search(step, cache, limits, beam, max_steps)

    return run


class BeamSearchTest(tf.test.TestCase, parameterized.TestCase):
    def search(self, table, limits, beam_size, alpha, mode="grow"):
        inputs = table.logits, limits.astype(np.int32), np.float32(alpha)
        result = graph_of(beam_size, mode)(*map(tf.constant, inputs))
        return tf.nest.map_structure(lambda x: x.numpy(), result)

    @parameterized.product(
        beam_size=[1, 2, 5], alpha=[0.0, 0.6, 1.0], mode=["grow", "static", "xla"]
    )
    def test_equals_the_reference(self, beam_size, alpha, mode):
        for seed in range(3):
            table = Table(seed)
            limits = np.random.default_rng(seed).integers(1, LONGEST + 1, size=9)
            result = self.search(table, limits, beam_size, alpha, mode)
            for sentence, limit in enumerate(limits):
                tokens, score = reference_beam_search(
                    lambda prefixes, s=sentence, t=table: t.next_log_probs(s, prefixes),
                    limit,
                    beam_size,
                    alpha,
                    EOS,
                )
                length = result.lengths[sentence]
                found = result.token_ids[sentence]
                self.assertEqual(found[:length].tolist(), tokens)
                self.assertAllEqual(found[length:], np.full(len(found) - length, PAD))
                self.assertAllClose(result.scores[sentence], score, rtol=1e-5)
