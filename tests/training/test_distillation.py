import hashlib
import json
import shutil

import pytest
from absl.testing import parameterized

from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.text_files import one_line
from cmlm_tf.errors import UserError
from cmlm_tf.training.distillation import distill, distill_corpus
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import BeamOptions
from tests.tiny_models import model_dir
from tests.training.small_run import small_config, write_teacher

SETTINGS = {"beam_size": 5}


def shout(lines):
    return [line.upper() for line in lines]


class DistillCorpusTest(parameterized.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path):
        self.folder, self.output = tmp_path, tmp_path / "out"
        lines = [f"line {i} \u2028 tab\t." if i % 7 else "" for i in range(100)]
        self.text = "".join(line + "\n" for line in lines)
        for name in ("a", "b"):
            (tmp_path / name).write_text(self.text)
        self.spec = f"files:{tmp_path / 'a'},{tmp_path / 'b'}"

    def distill(self, translate_fn=shout, settings=SETTINGS, chunk_size=8):
        corpus = open_corpus(self.spec)
        distill_corpus(corpus, translate_fn, self.output, settings, chunk_size)

    def fail_at(self, chunk):
        chunks = iter(range(100))

        def translate(lines):
            if next(chunks) == chunk:
                raise KeyboardInterrupt
            return shout(lines)

        with self.assertRaises(KeyboardInterrupt):
            self.distill(translate)

    def assert_complete(self):
        texts = {"source.txt": self.text, "target.txt": self.text.upper()}
        self.assertEqual(
            {p.name for p in self.output.iterdir()}, {*texts, "manifest.json"}
        )
        manifest = json.loads((self.output / "manifest.json").read_text())
        for name, text in texts.items():
            content = (self.output / name).read_bytes()
            self.assertEqual(content, text.encode())
            sha256 = hashlib.sha256(content).hexdigest()
            self.assertEqual(manifest["sha256"][name], sha256)
        self.assertEqual(manifest["num_lines"], 100)
        fingerprint = open_corpus(self.spec).fingerprint()
        settings = {"corpus_fingerprint": fingerprint} | SETTINGS
        self.assertEqual(manifest["settings"], settings)
        self.assertFalse((self.folder / "out.partial").exists())

    @parameterized.parameters(1, 8, 2000)
    def test_one_line_for_each_line(self, chunk_size):
        self.distill(chunk_size=chunk_size)
        self.assert_complete()
        corpus = open_corpus(f"files:{self.output}/source.txt,{self.output}/target.txt")
        self.assertEqual(
            list(corpus), [(line, line.upper()) for line in self.text.split("\n")[:-1]]
        )

    def test_stopped_between_chunks_and_before_there_were_files(self):
        self.fail_at(0)
        for name in ("source.txt", "target.txt"):
            (self.folder / "out.partial" / name).unlink()
        for chunk in (0, 5, 2):
            self.fail_at(chunk)
        self.distill()
        self.assert_complete()

    def test_killed_while_files_were_written(self):
        self.fail_at(3)
        for name in (
            "source.txt",
            "target.txt",
            ".journal.abcd1234.json",
            ".manifest.abcd1234.json",
        ):
            with open(self.folder / "out.partial" / name, "a") as file:
                file.write("half a line that the journal does not know")
        self.distill()
        self.assert_complete()

    def test_stopped_at_the_very_end(self):
        self.distill()
        (self.output / "journal.json").write_text("{}")
        self.distill(translate_fn=None)
        self.assert_complete()

    def test_other_settings(self):
        self.fail_at(3)
        with self.assertRaisesRegex(UserError, "made with beam_size 5, asked for 4"):
            self.distill(settings={"beam_size": 4})
        self.distill()
        with self.assertRaisesRegex(UserError, "made with beam_size 5, asked for 4"):
            self.distill(settings={"beam_size": 4})
        self.assert_complete()

    @parameterized.parameters("a", "b")
    def test_a_corpus_that_is_changed_meanwhile(self, name):
        # Longer than what is read ahead.
        self.text = "".join(f"line {i:05000}\n" for i in range(100))
        for side in ("a", "b"):
            (self.folder / side).write_text(self.text)
        path, other = self.folder / name, self.text.replace("99\n", "98\n")

        def translate(lines):
            path.write_text(other)
            return shout(lines)

        with self.assertRaisesRegex(UserError, f"^{self.spec}: changed while"):
            self.distill(translate)
        self.assertFalse(self.output.exists())
        path.write_text(self.text)
        if name == "a":  # The part that is there was made of other lines.
            with self.assertRaisesRegex(UserError, "source.txt: .*; remove .*out.part"):
                self.distill(translate_fn=None)
            shutil.rmtree(self.folder / "out.partial")
        self.distill()
        self.assert_complete()

    def test_files_that_are_not_as_the_journal_says(self):
        self.fail_at(3)
        path = self.folder / "out.partial" / "target.txt"
        content = path.read_bytes()
        for damaged in (b"", bytes([content[0] ^ 1]) + content[1:]):
            path.write_bytes(damaged)
            with self.assertRaisesRegex(UserError, "target.txt: not as .*; remove"):
                self.distill()
        path.write_bytes(content)
        self.distill()
        self.assert_complete()

    def test_translations_without_a_journal_are_not_lost(self):
        self.fail_at(3)
        partial = self.folder / "out.partial"
        content = (partial / "target.txt").read_bytes()
        (partial / "journal.json").unlink()
        with self.assertRaisesRegex(UserError, "txt: is there without .*; remove"):
            self.distill()
        self.assertEqual((partial / "target.txt").read_bytes(), content)

    def test_damaged_journal_or_manifest(self):
        self.fail_at(3)
        paths = (
            self.folder / "out.partial" / "journal.json",
            self.output / "manifest.json",
        )
        changed = paths[0].read_text().replace('"num_lines": 24', '"num_lines": 25')
        for path in paths:
            path.parent.mkdir(exist_ok=True)
            for content in (changed, "{}", "[]", "3", '{"settings": {}}', "{"):
                path.write_text(content)
                expected = f"{path.name}: (damaged|not valid)"
                with self.assertRaisesRegex(UserError, expected):
                    self.distill()

    @parameterized.parameters("source.txt", "target.txt")
    def test_a_finished_result_that_was_changed(self, name):
        self.distill()
        with open(self.output / name, "a") as file:
            file.write("one line more\n")
        with self.assertRaisesRegex(UserError, f"{name}: damaged"):
            self.distill(translate_fn=None)
        (self.output / name).unlink()
        with self.assertRaisesRegex(UserError, f"{name}: No such file"):
            self.distill(translate_fn=None)

    def test_two_runs_at_once(self):
        def translate(lines):
            with self.assertRaisesRegex(UserError, "another run"):
                self.distill()
            return shout(lines)

        self.distill(translate)
        self.assert_complete()

    def test_what_is_no_folder_of_a_distilled_corpus(self):
        (self.folder / "link").symlink_to(self.folder / "nowhere")
        self.output.mkdir()
        for path, message in (
            ("out", "not a distilled corpus"),
            ("link", "not a distilled corpus"),
            ("missing/..", "no name of a folder"),
        ):
            self.output = self.folder / path
            with self.assertRaisesRegex(UserError, message):
                self.distill(translate_fn=None)


class DistillTest(parameterized.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path):
        self.folder = tmp_path

    def test_translates_the_source_side_by_beam_search(self):
        write_teacher(self.folder)
        teacher = self.folder / "teacher"
        config = small_config(self.folder)
        spec = distill(config, teacher, self.folder / "out", beam_size=2, batch_size=4)
        sources = [source for source, _ in open_corpus(config.data.train)]
        translator = load_translator(teacher, sentences_per_batch=4)
        translations = translator.translate(sources, BeamOptions(2, 0.6))
        targets = [one_line(translation.text) for translation in translations]
        expected = list(zip(sources, targets, strict=True))
        self.assertEqual(list(open_corpus(spec)), expected)
        with self.assertRaisesRegex(UserError, "made with beam_size 2, asked for 3"):
            distill(config, teacher, self.folder / "out", beam_size=3)

    def test_faults_are_found_before_the_work_starts(self):
        config = small_config(self.folder)
        with self.assertRaisesRegex(UserError, "a,b: a comma"):
            distill(config, self.folder / "teacher", self.folder / "a,b")
        with self.assertRaisesRegex(UserError, "not a teacher but a student"):
            distill(config, model_dir("student"), self.folder / "out")
        del config.data.dev
        for faulty in (config, config.to_dict()):
            with self.assertRaisesRegex(UserError, "config.* (missing|ConfigDict)"):
                distill(faulty, self.folder / "teacher", self.folder / "out")
