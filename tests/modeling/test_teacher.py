"""The teacher: causal, cached steps equal whole targets, exact search."""

import functools

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.modeling.output import ban
from cmlm_tf.translate.teacher import BeamDecoder
from tests.modeling.small import CONFIG, make_teacher, random_sources, sentence_batch
from tests.reference_beam import reference_beam_search

BOS, EOS = 2, 3


SOURCES = random_sources(6, 7, seed=2)


@functools.cache
def searched_teacher():
    return make_teacher(seed=3)


@functools.cache
def whole_model():
    """The teacher without any cache, as one graph for all shapes."""
    return tf.function(searched_teacher(), autograph=False, reduce_retracing=True)


def log_probs_of(source, prefixes):
    """Next-token log-probabilities without any cache: `[prefixes, vocab]`."""
    length = len(prefixes[0]) + 1
    decoder = np.array([[BOS, *prefix] for prefix in prefixes], np.int32)
    source = source[source != 0]
    batch = sentence_batch(
        np.repeat(source[None], len(prefixes), 0), decoder, np.ones_like(decoder) > 0
    )
    logits = whole_model()(batch)[:, length - 1]
    return tf.nn.log_softmax(ban(logits, searched_teacher().banned_ids)).numpy()


@functools.cache
def expected(beam_size):
    """What a plain search without any cache finds for each sentence."""
    found = []
    for source in SOURCES:
        limit = min(2 * int((source != 0).sum()) + 10, CONFIG.max_length - 1)
        predict = functools.partial(log_probs_of, source)
        found.append(reference_beam_search(predict, limit, beam_size, 0.6, EOS))
    return found


class TeacherTest(tf.test.TestCase, parameterized.TestCase):
    def test_a_prediction_depends_on_the_past_alone(self):
        teacher = make_teacher()
        sources = random_sources(2, 6)
        decoder = np.random.default_rng(0).integers(5, 48, size=[2, 7]).astype(np.int32)
        valid = np.ones_like(decoder) > 0
        before = teacher(sentence_batch(sources, decoder, valid)).numpy()
        changed = decoder.copy()
        changed[:, 4] = 5 + (changed[:, 4] - 4) % 43
        after = teacher(sentence_batch(sources, changed, valid)).numpy()
        self.assertAllClose(before[:, :4], after[:, :4], atol=1e-5)
        for position in range(4, 7):
            self.assertNotAllClose(before[:, position], after[:, position])

    @parameterized.product(growing=[True, False])
    def test_cached_steps_equal_the_whole_target(self, growing):
        teacher = make_teacher()
        sources = random_sources(3, 6)
        rng = np.random.default_rng(1)
        decoder = rng.integers(5, 48, size=[3, 5]).astype(np.int32)
        whole = teacher(sentence_batch(sources, decoder, np.ones_like(decoder) > 0))
        cache = teacher.start(tf.constant(sources), 2, None if growing else 5)
        for time in range(5):
            times = time + 1 if growing else 5
            ancestors = tf.zeros([3, 2, times], tf.int32) + tf.range(2)[:, None]
            ids = tf.constant(np.repeat(decoder[:, time : time + 1], 2, axis=1))
            logits, cache = teacher.step(
                ids, tf.constant(time), ancestors, cache, growing
            )
            for slot in range(2):
                self.assertAllClose(logits[:, slot], whole[:, time], atol=1e-4)

    @parameterized.product(beam_size=[1, 4], mode=["grow", "xla"])
    def test_search_equals_the_uncached_reference(self, beam_size, mode):
        static_length = CONFIG.max_length - 1 if mode == "xla" else None

        decode = tf.function(
            lambda ids: BeamDecoder(searched_teacher(), beam_size)(
                ids, alpha=0.6, static_length=static_length
            ),
            autograph=False,
            jit_compile=mode == "xla",
        )
        result = decode(tf.constant(SOURCES))
        for row, (tokens, score) in enumerate(expected(beam_size)):
            length = int(result.lengths[row])
            self.assertEqual(result.token_ids[row, :length].numpy().tolist(), tokens)
            self.assertAllClose(result.scores[row], score, atol=1e-3)

    def test_packed_rows_equal_single_sentences(self):
        teacher = make_teacher()
        sources = random_sources(2, 5, seed=4)
        decoder = np.random.default_rng(5).integers(5, 48, size=[2, 4]).astype(np.int32)
        alone = teacher(sentence_batch(sources, decoder, np.ones_like(decoder) > 0))
        lengths = (sources != 0).sum(1)
        packed = {
            "source_ids": np.concatenate(
                [s[:n] for s, n in zip(sources, lengths, strict=True)]
            ),
            "source_segments": np.repeat([1, 2], lengths),
            "source_positions": np.concatenate([np.arange(n) for n in lengths]),
            "decoder_ids": decoder.ravel(),
            "target_segments": np.repeat([1, 2], 4),
            "target_positions": np.tile(np.arange(4), 2),
        }
        packed = {k: tf.constant(v[None], tf.int32) for k, v in packed.items()}
        self.assertAllClose(
            tf.reshape(teacher(packed), [2, 4, -1]), alone, atol=1e-4, rtol=1e-4
        )
