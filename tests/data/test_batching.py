"""Batches: every sentence once an epoch, whole, and the same on every run."""

import collections
import functools
import itertools
import tempfile
import time

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.data.batching import FIELDS, TrainingBatches, dev_batches
from cmlm_tf.data.packing import pack
from cmlm_tf.data.prepared import PreparedCorpus, prepare_corpus
from cmlm_tf.errors import UserError
from cmlm_tf.special_ids import EOS_ID
from cmlm_tf.training.inputs import with_decoder_inputs
from tests.data.fakes import ListCorpus, NumberSubwords, numbers
from tests.tiny_models import root

FIRST_FREE = 10


def corpus_of(lengths: list[tuple[int, int]], folder: str) -> PreparedCorpus:
    """Prepares pairs of given lengths; each begins with an id of its own."""
    pairs = [
        (numbers([own] + [5] * (source - 1)), numbers([own] + [6] * (target - 1)))
        for own, (source, target) in enumerate(lengths, start=FIRST_FREE)
    ]
    return prepare_corpus(
        ListCorpus(pairs), NumberSubwords(60_000), folder, max_length_ratio=1000.0
    )


def random_lengths(seed: int, count: int, longest: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed)
    return rng.integers(1, longest + 1, (count, 2)).tolist()


@functools.cache
def natural_corpus() -> PreparedCorpus:
    """Lengths as in news text: log-normal, the target about as long."""
    rng = np.random.default_rng(8)
    source = rng.lognormal(3.1, 0.6, 20_000)
    target = source * rng.lognormal(0.05, 0.2, len(source))
    lengths = np.clip(np.stack([source, target], 1), 1, 120).astype(int).tolist()
    return corpus_of(lengths, str(root() / "natural"))


def sentences(batch: dict, side: str, row: int) -> dict[int, list[int]]:
    """Reads a row by a loop: segment number -> ids; checks places and padding."""
    found = collections.defaultdict(list)
    names = [f"{side}_{kind}" for kind in ("ids", "segments", "positions")]
    columns = [batch[name][row].tolist() for name in names]
    for token, segment, position in zip(*columns, strict=True):
        if segment == 0:
            assert (token, position) == (0, 0)
        else:
            assert position == len(found[segment])
            found[segment].append(token)
    segments = [segment for segment in columns[1] if segment]
    assert segments == sorted(segments), "a sentence is not in one piece"
    assert sorted(found) == list(range(1, len(found) + 1))
    return found


def pairs_of(batch: dict) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All sentence pairs of a batch, as written."""
    pairs = []
    for row in range(len(batch["source_ids"])):
        source, target = (sentences(batch, side, row) for side in ("source", "target"))
        assert source.keys() == target.keys()
        pairs += [(tuple(source[i]), tuple(target[i])) for i in source]
    return pairs


def stored_pairs(prepared: PreparedCorpus, append_eos: bool) -> list:
    end = (EOS_ID,) if append_eos else ()
    return [
        (tuple(prepared.source[i].tolist()), (*prepared.target[i].tolist(), *end))
        for i in range(prepared.num_pairs)
    ]


def equal(first: dict, second: dict) -> bool:
    return all(np.array_equal(first[name], second[name]) for name in FIELDS)


class PackTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(*range(6))
    def test_every_slot_fits_and_every_pair_has_one(self, seed):
        rng = np.random.default_rng(seed)
        row_length = int(rng.integers(1, 40))
        lengths = rng.integers(1, row_length + 1, (300, 2))
        classes, counts = np.unique(lengths, axis=0, return_counts=True)
        source, target = classes.T
        packing = pack(source, target, counts, row_length)
        slots = np.split(packing.slot_classes, packing.row_offsets[1:-1])
        self.assertLen(slots, packing.num_rows)
        for row in slots:
            self.assertNotEmpty(row)
            self.assertLessEqual(source[row].sum(), row_length)
            self.assertLessEqual(target[row].sum(), row_length)
        self.assertAllEqual(np.bincount(packing.slot_classes), counts)


class BatchesTest(tf.test.TestCase, parameterized.TestCase):
    def prepare(self, lengths) -> PreparedCorpus:
        return corpus_of(lengths, tempfile.mkdtemp(dir=self.get_temp_dir()))

    @parameterized.product(row_lengths=[(16,), (8, 16)], append_eos=[False, True])
    def test_every_sentence_once_an_epoch_and_whole(self, row_lengths, append_eos):
        prepared = self.prepare(random_lengths(1, 300, 14))
        training = TrainingBatches(prepared, row_lengths, 48, 7, append_eos)
        num_epochs = 5
        steps = int(num_epochs * training.steps_per_epoch)
        batches = itertools.islice(training.batches(), steps)
        counts = collections.Counter(
            pair for batch in batches for pair in pairs_of(batch)
        )
        self.assertSameElements(counts, stored_pairs(prepared, append_eos))
        # Only what the batches in the making hold is missing from the last epoch.
        self.assertBetween(min(counts.values()), num_epochs - 1, num_epochs)
        self.assertEqual(max(counts.values()), num_epochs)

    def test_shapes_are_static_and_follow_the_budget(self):
        prepared = self.prepare(random_lengths(3, 200, 15))
        one = TrainingBatches(prepared, (16,), 100, 0, False).dataset().element_spec
        self.assertEqual(one, dict.fromkeys(FIELDS, tf.TensorSpec([6, 16], tf.int32)))
        several = TrainingBatches(prepared, (8, 16), 100, 0, False, rows_multiple=4)
        batches = itertools.islice(several.batches(), 40)
        shapes = {batch["target_ids"].shape for batch in batches}
        self.assertEqual(shapes, {(12, 8), (4, 16)})
        self.assertEqual(several.shapes, [(12, 8), (4, 16)])
        spec = several.dataset().element_spec["target_ids"]
        self.assertEqual(spec, tf.TensorSpec([None, None], tf.int32))

    def test_tensorflow_knows_that_there_is_no_end(self):
        prepared = self.prepare(random_lengths(3, 200, 15))
        dataset = TrainingBatches(prepared, (8, 16), 100, 0, False).dataset()
        for each in (dataset, with_decoder_inputs(dataset, "student", 0)):
            self.assertEqual(each.cardinality(), tf.data.INFINITE_CARDINALITY)

    def test_a_pair_goes_to_the_shortest_row_it_fits(self):
        prepared = self.prepare(random_lengths(4, 300, 15))
        training = TrainingBatches(prepared, (4, 8, 16), 32, 0, True)
        for batch in itertools.islice(training.batches(), 60):
            row_length = batch["source_ids"].shape[1]
            longest = [max(map(len, pair)) for pair in pairs_of(batch)]
            self.assertLessEqual(max(longest), row_length)
            self.assertGreater(min(longest), {4: 0, 8: 4, 16: 8}[row_length])

    @parameterized.parameters((16,), (8, 16))
    def test_resuming_gives_the_batches_of_an_undisturbed_run(self, *row_lengths):
        prepared = self.prepare(random_lengths(5, 60, 15))
        settings = (prepared, row_lengths, 48, 3, False)
        undisturbed = list(itertools.islice(TrainingBatches(*settings).batches(), 60))
        for start in (0, 1, 7, 20, 33, 59):
            resumed = TrainingBatches(*settings).dataset(start).take(60 - start)
            for batch, expected in zip(resumed, undisturbed[start:], strict=True):
                self.assertTrue(equal(batch, expected))

    def test_the_seed_decides_and_resuming_late_is_no_work(self):
        prepared = self.prepare(random_lengths(6, 100, 15))
        start = time.monotonic()
        first, again, other = (
            next(TrainingBatches(prepared, (8, 16), 64, seed, False).batches(10**9))
            for seed in (1, 1, 2)
        )
        self.assertTrue(equal(first, again))
        self.assertFalse(equal(first, other))
        self.assertLess(time.monotonic() - start, 2)

    def test_the_shuffle_is_global_and_new_in_each_epoch(self):
        num_pairs = 2000
        prepared = self.prepare([(7, 7)] * num_pairs)  # Two in a row of 16.
        training = TrainingBatches(prepared, (16,), 16 * 10, 1, False)
        self.assertEqual(training.steps_per_epoch, 100)
        batches = itertools.islice(training.batches(), 200)
        order = np.array([p[0][0] - FIRST_FREE for b in batches for p in pairs_of(b)])
        epochs = order.reshape(2, num_pairs)
        for epoch in epochs:
            self.assertAllEqual(np.sort(epoch), np.arange(num_pairs))
            self.assertLess(abs(np.corrcoef(epoch, np.arange(num_pairs))[0, 1]), 0.1)
            # Neighbours in a row are no neighbours in the corpus.
            distance = np.abs(np.diff(epoch.reshape(-1, 2), axis=1)).mean()
            self.assertBetween(distance, num_pairs / 4, num_pairs / 2)
        self.assertLess(abs(np.corrcoef(*epochs)[0, 1]), 0.1)
        partners = [set(map(frozenset, epoch.reshape(-1, 2))) for epoch in epochs]
        self.assertLess(len(partners[0] & partners[1]), 10)

    @parameterized.parameters(((128,), False), ((128,), True), ((256,), False))
    def test_padding_wastes_less_than_a_tenth(self, row_lengths, append_eos):
        prepared = natural_corpus()
        training = TrainingBatches(prepared, row_lengths, 4096, 0, append_eos)
        batches = itertools.islice(training.batches(), int(training.steps_per_epoch))
        sides = ("source_segments", "target_segments")
        used = np.mean(
            [[np.mean(batch[side] > 0) for side in sides] for batch in batches]
        )
        self.assertLess(training.padding_waste, 0.1)
        self.assertNear(training.padding_waste, 1 - used, 0.01)

    def test_faults(self):
        prepared = self.prepare([(3, 12)])
        for row_length, tokens, append_eos, message in (
            (11, 64, False, "sentence of 12 subwords .* row of 11"),
            (12, 64, True, "sentence of 13 subwords .* row of 12"),
            (16, 31, False, "tokens_per_batch 31: too few for 2 rows"),
        ):
            with self.assertRaisesRegex(UserError, message):
                settings = (prepared, (row_length,), tokens, 0, append_eos)
                TrainingBatches(*settings, rows_multiple=2)

    def test_speed_on_one_core(self):
        prepared = natural_corpus()
        training = TrainingBatches(prepared, (128,), 32_768, 0, False)
        batches = iter(training.dataset())
        next(batches)
        start = time.process_time()
        tokens = sum(np.count_nonzero(next(batches)["target_ids"]) for _ in range(30))
        self.assertGreater(tokens / (time.process_time() - start), 300_000)

    @parameterized.product(row_lengths=[(16,), (8, 16)], append_eos=[False, True])
    def test_dev_every_sentence_once_and_always_the_same(self, row_lengths, append_eos):
        prepared = self.prepare(random_lengths(11, 101, 15))
        dataset = dev_batches(prepared, row_lengths, 64, append_eos)
        first, again = (list(dataset.as_numpy_iterator()) for _ in range(2))
        pairs = [pair for batch in first for pair in pairs_of(batch)]
        self.assertCountEqual(pairs, stored_pairs(prepared, append_eos))
        self.assertTrue(all(map(equal, first, again)))
        shapes = {batch["target_ids"].shape for batch in first}
        self.assertEqual(shapes, {(64 // length, length) for length in row_lengths})

    def test_the_last_dev_batch_is_filled_up_with_empty_rows(self):
        dataset = dev_batches(self.prepare([(15, 15)] * 5), (16,), 64, False)
        *_, last = dataset.as_numpy_iterator()
        used = (last["target_segments"] > 0).any(axis=1)
        self.assertAllEqual(used, [True, False, False, False])
