"""Prepared corpora: filters, reuse, and what is said of a damaged folder."""

import shutil
import tempfile
import tracemalloc
from pathlib import Path
from unittest import mock

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.data import prepared as prepared_lib
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.prepared import PreparedCorpus, prepare_corpus, select_pairs
from cmlm_tf.data.sentence_store import remove_unfinished
from cmlm_tf.errors import UserError
from cmlm_tf.special_ids import EOS_ID
from tests.data.fakes import ListCorpus, NumberSubwords, numbers

PAIRS = [("7 8", "9 10 11"), ("12", "13"), ("14 15 16", "17 18")]
FILES = ("source.tokens", "source.offsets", "target.tokens", "target.offsets")


def reason(source: int, target: int, max_length: int, max_ratio: float) -> str:
    """The rule in words, for one pair."""
    if source == 0 or target == 0:
        return "empty"
    if source + 1 > max_length or target + 1 > max_length:
        return "too_long"
    shorter = max(min(source, target), 4)
    return "length_ratio" if max(source, target) / shorter > max_ratio else "kept"


class SelectPairsTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters((10, 3.0), (20, 1.0), (20, 1.5), (2, 1.0), (40, 7.0))
    def test_equals_the_rule(self, max_length, max_ratio):
        source, target = (grid.reshape(-1) for grid in np.mgrid[0:30, 0:30])
        kept, reasons = select_pairs(source, target, max_length, max_ratio)
        lengths = zip(source.tolist(), target.tolist(), strict=True)
        expected = np.array([reason(*pair, max_length, max_ratio) for pair in lengths])
        for name, found in {"kept": kept, **reasons}.items():
            self.assertAllEqual(found, expected == name)


class PrepareCorpusTest(tf.test.TestCase, parameterized.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = Path(tempfile.mkdtemp(dir=self.get_temp_dir()))

    def prepare(self, pairs=PAIRS, subwords=None, **settings) -> PreparedCorpus:
        subwords = subwords or NumberSubwords()
        return prepare_corpus(ListCorpus(pairs), subwords, self.folder, **settings)

    def test_holds_all_pairs_in_order(self):
        prepared = self.prepare()
        self.assertEqual(prepared.num_pairs, 3)
        sources = [prepared.source[i].tolist() for i in range(3)]
        targets = [prepared.target[i].tolist() for i in range(3)]
        self.assertEqual(sources, [[7, 8, EOS_ID], [12, EOS_ID], [14, 15, 16, EOS_ID]])
        self.assertEqual(targets, [[9, 10, 11], [13], [17, 18]])
        self.assertAllEqual(prepared.source.lengths, [3, 2, 4])
        self.assertLen(prepared.target, 3)

    def test_chunks_leave_no_trace(self):
        rng = np.random.default_rng(1)
        pairs = [
            (numbers(rng.integers(5, 1000, n)), numbers(rng.integers(5, 1000, n + 1)))
            for n in rng.integers(0, 30, 100)
        ]
        whole = self.prepare(pairs, max_length=20)
        content = [(whole.folder / name).read_bytes() for name in FILES]
        self.folder = self.folder / "chunked"
        with mock.patch.object(prepared_lib, "_CHUNK", 7):
            chunked = self.prepare(pairs, max_length=20)
        self.assertEqual(
            [(chunked.folder / name).read_bytes() for name in FILES], content
        )
        self.assertEqual(chunked.manifest, whole.manifest)
        self.assertBetween(whole.num_pairs, 1, 99)

    def test_the_filters_are_counted(self):
        pairs = [
            ("7", ""),
            (" ", "7"),
            (numbers(range(10)), "7"),
            (numbers([7] * 9), numbers([7] * 9)),
            (numbers([7] * 8), numbers([7] * 9)),
            ("7", numbers([7] * 9)),
        ]
        manifest = self.prepare(pairs, max_length=10, max_length_ratio=2).manifest
        self.assertEqual(
            manifest["num_pairs"],
            {"read": 6, "kept": 2, "empty": 2, "too_long": 1, "length_ratio": 1},
        )
        self.assertEqual(manifest["num_tokens"], {"source": 19, "target": 18})

    @parameterized.parameters((1 << 16, np.uint16), ((1 << 16) + 8, np.int32))
    def test_the_integer_type_follows_the_vocabulary(self, vocab_size, expected):
        last = str(vocab_size - 1)
        prepared = self.prepare([(last, last)], NumberSubwords(vocab_size))
        self.assertEqual(prepared.target.tokens.dtype, expected)
        self.assertAllEqual(prepared.target[0], [vocab_size - 1])

    def test_is_used_again_only_if_nothing_changed(self):
        first = self.prepare()
        with mock.patch.object(NumberSubwords, "encode", side_effect=AssertionError):
            self.assertEqual(self.prepare().folder, first.folder)
        others = [
            self.prepare(PAIRS[:2]),
            self.prepare(subwords=NumberSubwords(sha256="1" * 64)),
            self.prepare(max_length=100),
            self.prepare(max_length_ratio=5.0),
        ]
        folders = {prepared.folder for prepared in [first, *others]}
        self.assertLen(folders, 5)
        self.assertSameElements(self.folder.iterdir(), folders)

    def test_a_failure_leaves_nothing_behind(self):
        with self.assertRaisesRegex(
            UserError, "no pair is left; dropped: .*'empty': 1"
        ):
            self.prepare([("7", "")])
        with mock.patch.object(NumberSubwords, "encode", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                self.prepare()
        full = OSError(28, "No space left on device")
        with mock.patch.object(prepared_lib, "write_manifest", side_effect=full):
            with self.assertRaisesRegex(UserError, "No space left on device"):
                self.prepare()
        self.assertEmpty(list(self.folder.iterdir()))

    def test_of_two_runs_at_once_the_first_stays(self):
        write = prepared_lib.write_manifest

        def write_after_another_run(folder, content):
            with mock.patch.object(prepared_lib, "write_manifest", write):
                self.other = self.prepare()
            write(folder, content)

        with mock.patch.object(prepared_lib, "write_manifest", write_after_another_run):
            prepared = self.prepare()
        self.assertEqual(prepared.manifest, self.other.manifest)
        self.assertLen(list(self.folder.iterdir()), 1)

    def test_what_killed_runs_left_behind_is_removed(self):
        prepared = self.prepare()
        others = [prepared.folder, self.folder / ".snapshot"]
        others[1].mkdir()
        with mock.patch.object(shutil, "rmtree"), self.assertRaises(UserError):
            self.prepare([("7", "")])
        self.assertLen(list(self.folder.iterdir()), 3)
        remove_unfinished(self.folder)
        self.assertCountEqual(self.folder.iterdir(), others)

    @parameterized.parameters(*FILES, "manifest.json")
    def test_a_cut_altered_or_missing_file_is_named(self, name):
        path = self.prepare().folder / name
        content = path.read_bytes()
        flipped = bytearray(content)
        flipped[len(content) // 2] ^= 1
        for damaged in (content[:-2], b"", bytes(flipped)):
            path.write_bytes(damaged)
            with self.assertRaisesRegex(UserError, f"{path}: damaged; delete"):
                self.prepare()
        path.unlink()
        with self.assertRaisesRegex(UserError, f"{path}: No such file"):
            self.prepare()

    def test_a_manifest_that_is_edited_or_of_another_shape_is_damaged(self):
        path = self.prepare().folder / "manifest.json"
        edited = path.read_text().replace('"max_length": 256', '"max_length": 255')
        for text in (edited, "[]", "{}", "null", "1", '{"content": {}}', "[" * 99999):
            path.write_text(text)
            with self.assertRaisesRegex(UserError, "manifest.json: damaged"):
                PreparedCorpus(path.parent)

    @parameterized.parameters(dict(max_length=1), dict(max_length_ratio=0.5))
    def test_impossible_limits(self, **settings):
        with self.assertRaisesRegex(UserError, "must be"):
            self.prepare(**settings)

    def test_faults_of_the_corpus_come_before_any_encoding(self):
        paths = self.folder / "a", self.folder / "b"
        paths[0].write_text("1\n2\n")
        paths[1].write_bytes(b"1\n\xff\n")
        corpus = open_corpus("files:{},{}".format(*paths))
        with mock.patch.object(NumberSubwords, "encode", side_effect=AssertionError):
            with self.assertRaisesRegex(UserError, "b, line 2: not valid UTF-8"):
                prepare_corpus(corpus, NumberSubwords(), self.folder / "out")


class MemoryTest(tf.test.TestCase):
    def test_memory_does_not_grow_with_the_corpus(self):
        folder = Path(self.get_temp_dir())
        for name in "ab":
            with open(folder / name, "w") as file:
                file.writelines(numbers([7] * 10) + "\n" for _ in range(30_000))
        corpus = open_corpus(f"files:{folder}/a,{folder}/b")
        tracemalloc.start()
        with mock.patch.object(prepared_lib, "_CHUNK", 500):
            prepare_corpus(corpus, NumberSubwords(), folder / "out")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        size = sum(path.stat().st_size for path in (folder / "out").glob("*/*"))
        self.assertGreater(size, 1_500_000)
        self.assertLess(peak, size)
