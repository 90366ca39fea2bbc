"""Subword model: reserved ids, no unknown text, Python and graph alike."""

import functools
import random
import tempfile
from pathlib import Path

import sentencepiece
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.data.subwords import SubwordModel, train_subword_model
from cmlm_tf.data.text_files import plain_spaces, unbroken
from cmlm_tf.errors import UserError
from cmlm_tf.special_ids import BOS_ID, EOS_ID, MASK_ID, PAD_ID, UNK_ID
from tests.commands import run_command
from tests.tiny_models import root

NUM_SPECIAL = 5
COMMAND = "bin/train_subword.py"

WORDS = (
    "the house that my neighbour built last year has twelve windows and no door "
    "das Haus das mein Nachbar letztes Jahr baute hat zwölf Fenster und keine Tür "
    "she will not come because it rains sie kommt nicht weil es regnet "
    "Straßenbahnhaltestelle Größe Übung 1998 3,50 € (ca. 40 %) »gut« – nie!"
).split()

FRAGMENTS = (
    "<mask> </s> <s> <pad> <unk> <0x41> ▁ ▁▁ <unused_0> [MASK] &amp; <b>x</b>".split()
    + [" ", "  ", "\t", "\u00a0", "\u2009", "\u3000", "\u200b", "\u2028", "\x85"]
    + ["\r", "\x0b", "\x0c", "\x00", "\x01", "\x07", "\x1b[0m", "\x7f", "\x9f"]
    + [*"\ufeff\u200d\u200e\u202e\u00ad\ufffd\uffff\U0010ffff"]
    + ["e\u0301", "é", "n\u0303\u0323", "ﬁ", "½", "①", "Å", "ｆｕｌｌ", "ﷺ", "İ", "ß"]
    + ["中文", "日本語テキスト", "한국어", "שלום", "مرحبا", "नमस्ते", "ไทย", "ελληνικά"]
    + ["😀", "👨\u200d👩\u200d👧", "🇩🇪", "👍🏽", "𝔘𝔫𝔦", "𐍈", "\U000e0041"]
    + ["https://example.org/a?b=c&d=%20", "x = {'a': [1, 2]};", "9" * 60, "a" * 300]
)


def sentences() -> list[str]:
    rng = random.Random(1)
    compounds = ["".join(rng.choices(WORDS, k=2)) for _ in range(400)]
    words = WORDS + compounds
    return [" ".join(rng.choices(words, k=rng.randint(1, 12))) for _ in range(2000)]


def odd_lines(count: int) -> list[str]:
    """All fragments alone, then fragments and words in random company."""
    rng = random.Random(2)
    lines = ["", *FRAGMENTS, *("in " + f + " between" for f in FRAGMENTS)]
    while len(lines) < count:
        parts = rng.choices(FRAGMENTS + WORDS, k=rng.randint(1, 9))
        lines.append(rng.choice(["", " "]).join(parts))
    return lines


@functools.cache
def model_path(model_type: str) -> str:
    path = str(root() / f"{model_type}.subword.model")
    train_subword_model(sentences(), path, 400, model_type, character_coverage=1.0)
    return path


class SubwordModelTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters("unigram", "bpe")
    def test_no_spelling_reaches_a_special_id_and_nothing_is_unknown(self, model_type):
        encoded = SubwordModel(model_path(model_type)).encode(odd_lines(3000))
        self.assertGreaterEqual(min(i for ids in encoded for i in ids), NUM_SPECIAL)

    @parameterized.parameters("unigram", "bpe")
    def test_graph_equals_python(self, model_type):
        model = SubwordModel(model_path(model_type))
        lines = sentences()[:500] + odd_lines(1500)
        expected = model.encode(lines)
        ids = tf.function(model.tokenizer().tokenize)(list(map(plain_spaces, lines)))
        self.assertEqual(ids.dtype, tf.int32)
        self.assertEqual(ids.to_list(), expected)

    def test_graph_equals_python_on_any_ids(self):
        model = SubwordModel(model_path("unigram"))
        rng = random.Random(3)
        ids = [rng.choices(range(5, model.vocab_size), k=20) for _ in range(500)]
        texts = model.tokenizer().detokenize(tf.ragged.constant(ids, tf.int32)).numpy()
        self.assertEqual([unbroken(t.decode()) for t in texts], model.decode(ids))

    def test_plain_text_survives(self):
        model = SubwordModel(model_path("unigram"))
        lines = [*sentences()[:100], "<mask> </s> <s> <pad> <unk>", "中文 😀 שלום"]
        self.assertEqual(model.decode(model.encode(lines)), lines)

    def test_blank_text_has_no_subwords(self):
        lines = ["", " ", "\t", "\u3000", "\u200b", "\r"]
        encoded = SubwordModel(model_path("unigram")).encode(lines)
        self.assertEqual(encoded, [[]] * len(lines))

    def test_white_space_and_nul_part_words(self):
        model = SubwordModel(model_path("unigram"))
        spaces = ["\0", *(c for c in map(chr, range(0x3001)) if c.isspace())]
        for found in model.encode([f"house{char}door" for char in spaces]):
            self.assertEqual([found], model.encode(["house door"]))
        self.assertEqual(model.encode(spaces), [[]] * len(spaces))

    def test_every_text_is_one_line(self):
        model = SubwordModel(model_path("unigram"))
        pieces = model.pieces(range(model.vocab_size))
        for char in "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
            ids = [pieces.index(f"<0x{byte:02X}>") for byte in char.encode()]
            self.assertEqual(model.decode([ids]), [" "])

    def test_decode_leaves_out_special_ids(self):
        model = SubwordModel(model_path("unigram"))
        (ids,) = model.encode(["the house"])
        row = [BOS_ID, *ids, EOS_ID, UNK_ID, MASK_ID, PAD_ID, PAD_ID]
        self.assertEqual(model.decode([row, [], [PAD_ID]]), ["the house", "", ""])
        self.assertEqual(model.decode([]), [])

    def test_unpaired_surrogates_are_read_as_question_marks(self):
        model = SubwordModel(model_path("unigram"))
        self.assertEqual(model.encode(["a\ud800b"]), model.encode(["a?b"]))

    def assert_refused(self, content: bytes, message: str):
        path = Path(self.get_temp_dir(), "damaged.model")
        path.write_bytes(content)
        with self.assertRaisesRegex(UserError, f"{path}: {message}"):
            SubwordModel(path)

    def test_a_damaged_or_missing_file_is_refused(self):
        content = Path(model_path("unigram")).read_bytes()
        for damaged in (b"", b"no model", content[: len(content) // 2]):
            self.assert_refused(damaged, "")
        for piece in (b"<mask>", b"Haus"):
            no_text = content.replace(piece, b"\xff" + piece[1:], 1)
            self.assert_refused(no_text, "not a SentencePiece model")
        with self.assertRaisesRegex(UserError, "/nowhere: No such file"):
            SubwordModel("/nowhere")

    @parameterized.parameters(
        ("trained without byte fallback", dict(byte_fallback=False)),
        ("id 4 is not reserved for <mask>", dict(control_symbols=["<sep>"])),
        ("id 0 is not reserved for <pad>", dict(pad_id=-1)),
        ("a vocabulary of 401 pieces, not a multiple", dict(vocab_size=401)),
        # A text can spell what the user has defined.
        ("id 4 .<mask>. is not a control", dict(user_defined_symbols=["<mask>"])),
        (
            "id 2 .<s>. is not a control",
            dict(user_defined_symbols=["<s>", "</s>", "<mask>"]),
        ),
    )
    def test_a_model_of_another_kind_is_refused(self, message, changes):
        path = Path(self.get_temp_dir(), "other")
        settings = dict(
            vocab_size=400, byte_fallback=True, pad_id=0, unk_id=1, bos_id=2, eos_id=3
        )
        settings |= dict(hard_vocab_limit=False)
        if "user_defined_symbols" not in changes:
            settings |= dict(control_symbols=["<mask>"])
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences()),
            model_prefix=str(path),
            minloglevel=2,
            **(settings | changes),
        )
        self.assert_refused(path.with_suffix(".model").read_bytes(), message)


class TrainTest(tf.test.TestCase, parameterized.TestCase):
    def train(self, lines, vocab_size=400, model_type="unigram", **settings) -> Path:
        path = Path(tempfile.mkdtemp(dir=self.get_temp_dir())) / "m.model"
        train_subword_model(lines, path, vocab_size, model_type, **settings)
        return path

    @parameterized.parameters("unigram", "bpe")
    def test_a_rerun_gives_the_same_file(self, model_type):
        def train():
            lines = iter(sentences())
            return self.train(lines, 400, model_type, num_sampled_sentences=300)

        self.assertEqual(train().read_bytes(), train().read_bytes())

    def test_the_sample_comes_from_the_whole_text(self):
        lines = [chr(0x4E00 + number) * 3 for number in range(1000)]
        path = self.train(lines, 2000, num_sampled_sentences=200)
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        pieces = map(processor.id_to_piece, range(processor.get_piece_size()))
        places = [ord(p) - 0x4E00 for p in pieces if p >= "\u4e00" and len(p) == 1]
        self.assertLen(places, 200)
        self.assertBetween(sum(places) / 200, 400, 600)

    @parameterized.parameters("unigram", "bpe")
    def test_a_small_corpus_gives_a_smaller_vocabulary(self, model_type):
        path = self.train(["abc abd"] * 20, 32000, model_type)
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))
        size = len(pieces)
        self.assertLess(size, 300)
        self.assertEqual(size % 8, 0)
        kinds = (pieces.is_control, pieces.is_unknown, pieces.is_unused)
        special = [i for i in range(size) if any(kind(i) for kind in kinds)]
        self.assertEqual(special, [0, 1, 2, 3, 4])
        self.assertEqual((PAD_ID, UNK_ID, BOS_ID, EOS_ID, MASK_ID), (0, 1, 2, 3, 4))
        names = [pieces.id_to_piece(i) for i in special]
        self.assertEqual(names, ["<pad>", "<unk>", "<s>", "</s>", "<mask>"])

    @parameterized.product(model_type=["unigram", "bpe"], size=list(range(1, 9)))
    def test_whatever_was_cut_off_is_written_as_bytes(self, model_type, size):
        line = " ".join("abcdefghijkl"[:size])
        model = SubwordModel(self.train([line] * 20, 32000, model_type))
        self.assertEqual(model.decode(model.encode([line])), [line])

    @parameterized.parameters(
        (dict(vocab_size=401), "vocab_size 401: must be a multiple of 8"),
        (dict(vocab_size=0), "must be a multiple of 8"),
        (dict(model_type="word"), "'word': must be unigram or bpe"),
        (dict(vocab_size=264), "Vocabulary size is smaller than required_chars. 264"),
        (dict(num_sampled_sentences=100), "must be 101 or more"),
        (dict(character_coverage=float("nan")), "character_coverage"),
        (dict(lines=[]), "no sentences"),
    )
    def test_faults(self, settings, message):
        with self.assertRaisesRegex(UserError, message):
            self.train(**({"lines": ["abcdefgh ijk"] * 9} | settings))

    @parameterized.parameters(UserError("a.en, line 2: bad"), KeyboardInterrupt())
    def test_what_the_corpus_raises_passes_unchanged_and_leaves_no_file(self, error):
        def broken():
            yield "one"
            raise error

        path = Path(self.get_temp_dir()) / "sub" / "m.model"
        with self.assertRaises(type(error)) as caught:
            train_subword_model(broken(), path, 400)
        self.assertIs(caught.exception, error)
        self.assertFalse(path.parent.exists())


class CommandTest(tf.test.TestCase):
    def test_writes_a_model_or_says_why_not(self):
        folder = Path(self.get_temp_dir())
        (folder / "text").write_text("\n".join(sentences()) + "\n")
        output = folder / "subword.model"
        corpus = f"--corpus=files:{folder}/text,{folder}/text"
        done = run_command(COMMAND, corpus, "--vocab_size=400", f"--output={output}")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(SubwordModel(output).vocab_size, 400)
        failed = run_command(COMMAND, corpus, "--vocab_size=401", f"--output={output}")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("error: vocab_size 401", failed.stderr.splitlines()[-1])

    def test_flags_out_of_range(self):
        for flag in (
            "--vocab_size=8000000000",
            "--num_sampled_sentences=99999999999999999999",
            "--character_coverage=0.5",
        ):
            failed = run_command(COMMAND, "--corpus=files:a,b", "--output=x", flag)
            self.assertEqual(failed.returncode, 1)
            self.assertStartsWith(failed.stderr, f"error: flag {flag}: ")
