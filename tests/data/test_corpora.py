"""Corpora: what counts as a line, and one clear line for each fault."""

import gzip
import lzma
import tempfile
from pathlib import Path

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from absl.testing import parameterized

from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.text_files import read_lines
from cmlm_tf.errors import UserError

ODD_LINES = (
    "",
    " ",
    "plain",
    "line\u2028separator",
    "paragraph\u2029separator",
    "next\x85line",
    "lone\rreturn",
    "vertical\x0btab, form\x0cfeed, \x1c\x1d\x1e",
    "nul\x00",
    "\ufeffbyte-order mark",
    "e\u0301 \U0001f468\u200d\U0001f469",
)
OPENERS = {".txt": open, ".gz": gzip.open, ".xz": lzma.open}


class CorpusTestCase(tf.test.TestCase, parameterized.TestCase):
    def write(self, name: str, content: bytes) -> Path:
        path = Path(tempfile.mkdtemp(dir=self.get_temp_dir()), name)
        with OPENERS[path.suffix](path, "wb") as file:
            file.write(content)
        return path


class ReadLinesTest(CorpusTestCase):
    @parameterized.parameters(".txt", ".gz", ".xz")
    def test_only_line_feeds_end_a_line(self, suffix):
        content = "".join(line + "\n" for line in ODD_LINES).encode()
        path = self.write("odd" + suffix, content)
        self.assertEqual(tuple(read_lines(path)), ODD_LINES)

    @parameterized.parameters(
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\n", ["a\r"]),
        (b"a\n\n", ["a", ""]),
        (b"a\nb", ["a", "b"]),
        (b"a\nb\r", ["a", "b"]),
        (b"", []),
    )
    def test_line_ends(self, content, expected):
        self.assertEqual(list(read_lines(self.write("a.txt", content))), expected)

    def test_names_file_and_line_of_invalid_utf8(self):
        path = self.write("bad.txt", b"good\n\xc3\xa9\nbad \xff\n")
        with self.assertRaisesRegex(UserError, r"bad\.txt, line 3: not valid UTF-8$"):
            list(read_lines(path))

    @parameterized.parameters(".gz", ".xz")
    def test_names_a_damaged_archive(self, suffix):
        path = self.write("cut" + suffix, b"text\n" * 10000)
        path.write_bytes(path.read_bytes()[:-10])
        with self.assertRaisesRegex(UserError, "cut.*: damaged after line"):
            list(read_lines(path))
        path.write_bytes(b"no archive")
        with self.assertRaisesRegex(UserError, "cut.*: damaged after line 0"):
            list(read_lines(path))


class FileCorpusTest(CorpusTestCase):
    def open_pair(self, source: bytes, target: bytes):
        paths = self.write("a.txt", source), self.write("b.txt", target)
        return open_corpus("files:{},{}".format(*paths))

    def test_yields_pairs_any_number_of_times(self):
        corpus = self.open_pair(b"one\ntwo\n", b"eins\nzwei")
        for _ in range(2):
            self.assertEqual(list(corpus), [("one", "eins"), ("two", "zwei")])
        self.assertEqual(corpus.check(), 2)

    @parameterized.parameters((b"1\n2\n3\n", b"1\n", 3, 1), (b"1\n", b"1\n2\n", 1, 2))
    def test_different_lengths_name_both_files_and_counts(
        self, source, target, num_source, num_target
    ):
        corpus = self.open_pair(source, target)
        message = rf"a\.txt has {num_source} lines, .*b\.txt has {num_target} lines"
        with self.assertRaisesRegex(UserError, message):
            corpus.check()
        with self.assertRaisesRegex(UserError, message):
            list(corpus)

    def test_empty_and_missing_files(self):
        with self.assertRaisesRegex(UserError, r"b\.txt: the file is empty"):
            self.open_pair(b"1\n", b"")
        with self.assertRaisesRegex(UserError, r"/nowhere/x: No such file"):
            open_corpus(f"files:{self.write('a.txt', b'1')},/nowhere/x")
        with self.assertRaisesRegex(UserError, "Is a directory"):
            open_corpus("files:/,/")

    def test_fingerprint_follows_the_text_and_not_the_place(self):
        first = self.open_pair(b"one\n", b"eins\n").fingerprint()
        self.assertEqual(first, self.open_pair(b"one\n", b"eins\n").fingerprint())
        self.assertNotEqual(first, self.open_pair(b"eins\n", b"one\n").fingerprint())
        self.assertNotEqual(first, self.open_pair(b"one\n", b"Eins\n").fingerprint())


class TableCorpusTest(CorpusTestCase):
    ROWS = b"news\tone\teins\r\ntalks\ttwo\tzwei\nweb\tthree\tdrei\t3\n"

    @parameterized.parameters(
        ("?source=1&target=2", [("one", "eins"), ("two", "zwei"), ("three", "drei")]),
        ("?target=1&source=2&where=0:talks", [("zwei", "two")]),
        ("?source=1&target=2&where=0:news|web", [("one", "eins"), ("three", "drei")]),
        ("", [("news", "one"), ("talks", "two"), ("web", "three")]),
    )
    def test_selects_columns_and_rows(self, options, expected):
        for suffix in OPENERS:
            corpus = open_corpus(f"tsv:{self.write('t' + suffix, self.ROWS)}{options}")
            self.assertEqual(list(corpus), expected)
            self.assertEqual(corpus.check(), len(expected))
            self.assertEqual(corpus.files("--corpus"), {"--corpus": corpus.path})

    @parameterized.parameters(
        ("", r"t\.txt, line 4: 2 columns, but column 2 is asked for"),
        ("&where=0:nothing|no", r"t\.txt, line 4: 2 columns"),
        ("&target=1&where=0:nothing", "no row matches"),
    )
    def test_faults_of_rows(self, options, message):
        path = self.write("t.txt", self.ROWS + b"short\trow\n")
        corpus = open_corpus(f"tsv:{path}?source=1&target=2{options}")
        with self.assertRaisesRegex(UserError, message):
            corpus.check()

    def test_fingerprint_depends_on_the_selection(self):
        path = self.write("t.txt", self.ROWS)
        specs = ("", "?source=1&target=2", "?source=1&target=2&where=0:news")
        hashes = {open_corpus(f"tsv:{path}{spec}").fingerprint() for spec in specs}
        self.assertLen(hashes, 3)


class TfdsCorpusTest(parameterized.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path, monkeypatch):
        # The library leaves a temporary folder behind for each builder.
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    @parameterized.parameters(
        ("wmt14_translate/de-en", "en", "de"),
        ("wmt17_translate/zh-en", "zh", "en"),
        ("wmt14_translate/de-en:1.0.0", "de", "en"),
    )
    def test_equals_the_dataset_itself(self, name, source, target):
        corpus = open_corpus(f"tfds:{name}:train?source={source}&target={target}")
        with tfds.testing.mock_data(num_examples=7):
            records = tfds.load(name, split="train").as_numpy_iterator()
            expected = [(r[source].decode(), r[target].decode()) for r in records]
            self.assertLen(expected, 7)
            self.assertEqual(list(corpus), expected)
            self.assertIsNone(corpus.check())
            self.assertLen(corpus.fingerprint(), 64)

    def test_slices_and_folders_are_passed_on(self):
        corpus = open_corpus(
            "tfds:wmt14_translate/de-en:train[:50%]?source=en&target=de&data_dir=/x"
        )
        self.assertEqual(corpus.split, "train[:50%]")
        self.assertEqual(corpus.data_dir, "/x")

    @parameterized.parameters(
        ("nonsense", "en", "check", "Dataset nonsense not found"),
        ("nonsense", "en", "fingerprint", "Dataset nonsense not found"),
        ("wmt14_translate/xx-yy", "en", "check", "Failed to construct dataset"),
        ("wmt14_translate/de-en", "fr", "check", "no feature 'fr', only de, en"),
    )
    def test_faults_are_one_line(self, name, source, method, message):
        corpus = open_corpus(f"tfds:{name}:train?source={source}&target=de")
        with tfds.testing.mock_data(num_examples=1):
            with self.assertRaisesRegex(UserError, message) as caught:
                getattr(corpus, method)()
        self.assertNotIn("\n", str(caught.exception))


class SpecTest(parameterized.TestCase):
    @parameterized.parameters(
        ("", "must begin with one of files:, tsv:, tfds:$"),
        ("train.en,train.de", "must begin with one of"),
        ("csv:x", "must begin with one of"),
        ("files:a", "two files are needed"),
        ("files:a,b,c", "two files are needed"),
        ("tsv:x?column=1", "unknown option 'column', not in source, target, where"),
        ("tsv:/nowhere?source=1", "/nowhere: No such file"),
        ("tsv:/dev/null", "/dev/null: must be a regular file"),
        (f"tsv:{__file__}?source=one", "'one' is no whole number"),
        (f"tsv:{__file__}?source=-1", "'-1' is no whole number"),
        (f"tsv:{__file__}?where=news", "must be where=COLUMN:VALUE"),
        ("tfds:wmt14_translate/de-en?source=en&target=de", "must read tfds:NAME:SPLIT"),
        ("tfds:wmt14_translate/de-en:train", "must read tfds:NAME:SPLIT"),
    )
    def test_faults_in_a_description(self, spec, message):
        with self.assertRaisesRegex(UserError, message):
            open_corpus(spec)
