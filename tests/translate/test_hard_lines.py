"""Hard input through subwords, training, distillation and decoding."""

import numpy as np
import pytest
from absl.testing import parameterized

from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.prepared import prepare_corpus
from cmlm_tf.data.subwords import MODEL_TYPES, SubwordModel, train_subword_model
from cmlm_tf.special_ids import MASK_ID
from cmlm_tf.training.distillation import distill
from cmlm_tf.training.trainer import train
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from cmlm_tf.translate.whole_files import translate_file
from tests import tiny_models
from tests.hard_lines import INVALID_UTF8, LONG, SURROGATES, all_lines
from tests.tiny_models import model_dir, subword_file
from tests.training.small_run import small_config, write_teacher

OPTIONS = {"teacher": BeamOptions(1), "student": UnmaskingOptions(length_beam=2)}
#: One character that the normalisation makes 18, and 33 bytes.
WIDE = "\ufdfa"


def write_lines(path, lines):
    path.write_bytes(b"".join(line.encode() + b"\n" for line in lines))
    return path


class HardLinesTest(parameterized.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path):
        self.folder = tmp_path

    @parameterized.parameters(*MODEL_TYPES)
    def test_no_spelling_becomes_a_special_id(self, model_type):
        lines = [*all_lines(), *SURROGATES, *LONG.values()]
        train_subword_model(lines, self.folder / "model", 800, model_type)
        for path in (self.folder / "model", subword_file()):
            ids = SubwordModel(path).encode(lines)
            self.assertGreater(min(min(row, default=99) for row in ids), MASK_ID)

    @parameterized.parameters("teacher", "student")
    def test_one_translation_for_each_line_alone_and_in_a_batch(self, role):
        lines = [*all_lines(), *SURROGATES]
        translator = tiny_models.translator(role)
        texts = [t.text for t in translator.translate(lines, OPTIONS[role])]
        self.assertLen(texts, len(lines))
        ids = translator.subwords.encode(lines)
        for line, row, text in zip(lines, ids, texts, strict=True):
            if not row or not line.strip():
                self.assertEqual(text, "")
        others = load_translator(model_dir(role), sentences_per_batch=7)
        backward = others.translate(lines[::-1], OPTIONS[role])[::-1]
        self.assertEqual([t.text for t in backward], texts)
        for i in range(0, len(lines), 12):
            alone = translator.translate([lines[i]], OPTIONS[role], warn=False)
            self.assertEqual(alone[0].text, texts[i])

    @parameterized.parameters(*LONG)
    def test_a_long_line_is_one_translation(self, name):
        options = UnmaskingOptions("mask_predict", 1, length_beam=1)
        translator = tiny_models.translator("student", sentences_per_batch=512)
        (translation,) = translator.translate([LONG[name]], options)
        self.assertEqual(translation.num_tokens > 0, name != "blanks")

    @parameterized.product(role=["teacher", "student"], max_length=[2, 3, 24])
    def test_a_character_of_more_subwords_than_there_is_room_for(
        self, role, max_length
    ):
        lines = [WIDE, f"a {WIDE} b", "the small dog", "", "\U0001f600"]
        for deterministic in (False, True):
            translator = tiny_models.translator(
                role, max_length, deterministic=deterministic
            )
            translations = translator.translate(lines, OPTIONS[role])
            self.assertEqual([t.num_tokens > 0 for t in translations], [1, 1, 1, 0, 1])

    def test_a_file_keeps_its_lines_and_bad_bytes_are_counted(self):
        good, source = all_lines(), self.folder / "in.en"
        content = b"".join(line.encode() + b"\n" for line in good)
        source.write_bytes(content + b"\n".join(INVALID_UTF8))  # No last line end.
        output = self.folder / "out.de"
        translator = tiny_models.translator("student")
        with self.assertLogs(level="WARNING") as logs:
            translate_file(translator, str(source), str(output), OPTIONS["student"])
        lines = output.read_bytes().decode().split("\n")
        count = len(good) + len(INVALID_UTF8)
        self.assertLen(lines, count + 1)
        self.assertEqual(lines[-1], "")
        bad = len(INVALID_UTF8)
        self.assertIn(f"{bad} of {count} lines are not valid UTF-8", logs.output[-1])
        read = [line.decode(errors="surrogateescape") for line in INVALID_UTF8]
        texts = [t.text for t in translator.translate(read, OPTIONS["student"])]
        self.assertEqual(lines[-bad - 1 : -1], [t.replace("\n", " ") for t in texts])

    def test_two_megabytes_in_one_line(self):
        source = write_lines(self.folder / "in.en", ["dog", "the cat " * 250_000, ""])
        output = self.folder / "out.de"
        options = UnmaskingOptions("mask_predict", 1, length_beam=1)
        translator = load_translator(model_dir("student"), sentences_per_batch=4096)
        translate_file(translator, str(source), str(output), options)
        lines = output.read_text("utf-8").split("\n")
        self.assertEqual([len(line) > 0 for line in lines], [True, True, False, False])

    def corpus(self):
        """Hard lines as both sides of a corpus, each beside another one."""
        lines = all_lines() + ["dog cat"] * 20
        source = write_lines(self.folder / "hard.en", lines)
        target = write_lines(self.folder / "hard.de", lines[1:] + lines[:1])
        return f"files:{source},{target}", lines

    def test_preparing_keeps_the_subwords_of_every_pair_that_fits(self):
        spec, lines = self.corpus()
        subwords = SubwordModel(subword_file())
        prepared = prepare_corpus(
            open_corpus(spec), subwords, self.folder / "data", max_length_ratio=1e6
        )
        ids = subwords.encode(lines)
        pairs = zip(ids, ids[1:] + ids[:1], strict=True)
        expected = [pair for pair in pairs if all(0 < len(side) < 256 for side in pair)]
        self.assertEqual(prepared.num_pairs, len(expected))
        for i, (source, target) in enumerate(expected):
            np.testing.assert_array_equal(prepared.source[i][:-1], source)
            np.testing.assert_array_equal(prepared.target[i], target)

    def test_distillation_and_training(self):
        write_teacher(self.folder)
        config = small_config(self.folder)
        config.data.train, lines = self.corpus()
        teacher = self.folder / "teacher"
        spec = distill(config, teacher, self.folder / "out", beam_size=1)
        pairs = list(open_corpus(spec))
        self.assertLen(pairs, len(lines))
        for line, (source, target) in zip(lines, pairs, strict=True):
            self.assertEqual(source, line.removesuffix("\r").replace("\r", " "))
            if not line.strip():
                self.assertEqual(target, "")
        for role in ("teacher", "student"):
            config = small_config(self.folder, role)
            config.training.max_steps = 2
            config.data.train = config.data.dev = self.corpus()[0]
            load_translator(train(config, self.folder / role / "run"))
