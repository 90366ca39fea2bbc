"""Whole files through cmlm-decode: one line out for each line in."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest.mock
from pathlib import Path

import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.errors import UserError
from cmlm_tf.translate import whole_files
from cmlm_tf.translate.options import UnmaskingOptions
from cmlm_tf.translate.whole_files import translate_file
from tests import tiny_models
from tests.commands import ROOT, run_command
from tests.tiny_models import model_dir

LINES = ["the small cat", "", "a house\u2028and a tree", " ", "two dogs"]


def decode(*flags, stdin=None, stdout=subprocess.PIPE):
    """Runs bin/decode.py; returns the finished process."""
    return subprocess.run(
        [sys.executable, ROOT / "bin" / "decode.py", *flags],
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        timeout=300,
    )


def last_line(result):
    """Returns the last line of a finished process's stderr."""
    return result.stderr.decode().strip().split("\n")[-1]


class TranslateFileTest(tf.test.TestCase, parameterized.TestCase):
    def setUp(self):
        super().setUp()
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.source = self.folder / "in.en"
        self.source.write_text("".join(f"{line}\n" for line in LINES), "utf-8")
        self.output, self.jsonl = self.folder / "out.de", self.folder / "out.jsonl"

    def pipe(self, text):
        """Returns the path of a pipe that holds a text."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        with open(writer, "w", encoding="utf-8") as file:
            file.write(text)
        return f"/dev/fd/{reader}"

    def translate(self, **kwargs):
        translate_file(
            tiny_models.translator("student"),
            str(self.source),
            str(self.output),
            kwargs.pop("options", UnmaskingOptions()),
            jsonl=str(self.jsonl),
            **kwargs,
        )

    def records(self):
        text = self.jsonl.read_text("utf-8")
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def test_one_warning_counts_the_lines_that_were_split(self):
        lines = ["the cat sees " * 20, "a house"] * 3
        self.source.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        with (
            unittest.mock.patch.object(whole_files, "LINES_PER_CHUNK", 2),
            self.assertLogs(level="WARNING") as logs,
        ):
            self.translate()
        self.assertLen(logs.output, 1)
        self.assertIn("3 of 6 lines are longer", logs.output[0])

    def test_lines_and_records_are_aligned(self):
        self.translate()
        lines = self.output.read_text("utf-8").split("\n")[:-1]
        records = self.records()
        self.assertLen(lines, len(LINES))
        for source, line, record in zip(LINES, lines, records, strict=True):
            self.assertEqual(line == "", not source.strip())
            self.assertEqual(record["text"], line)
            self.assertNotIn("candidates", record)
            self.assertEqual(record["iterations"] == 0, not source.strip())

    def test_nbest_and_passes(self):
        options = UnmaskingOptions("fixed_k", 2, length_beam=3, trace=True)
        self.translate(options=options, nbest=True)
        for record in self.records():
            for part in record["candidates"]:
                self.assertLen(part, 3)
                for candidate in part:
                    self.assertLen(candidate["passes"], candidate["iterations"])

    def test_references_must_be_as_many(self):
        references = self.folder / "ref.de"
        references.write_text("eins\n")
        with self.assertRaisesRegex(UserError, "has 5 lines, .*ref.de has 1"):
            self.translate(references=str(references))
        self.assertFalse(self.output.exists())

    def test_pipes_are_read_once(self):
        self.source = self.pipe("the cat\n" * 5)
        self.translate(references=self.pipe("eins\n" * 5))
        self.assertLen(self.records(), 5)
        self.assertEqual(self.output.read_text("utf-8").count("\n"), 5)

    @parameterized.parameters(2, 4)
    def test_references_from_a_pipe_must_be_as_many(self, count):
        self.source = self.pipe("the cat\n" * 3)
        with self.assertRaisesRegex(UserError, f"has 3 lines, .* has {count}$"):
            self.translate(references=self.pipe("eins\n" * count))
        self.assertFalse(self.output.exists())

    def test_outputs_are_compressed_by_suffix(self):
        self.output = self.folder / "out.de.gz"
        self.translate()
        with gzip.open(self.output, "rt", encoding="utf-8") as file:
            lines = file.read().split("\n")[:-1]
        self.assertEqual(lines, [record["text"] for record in self.records()])

    def test_a_file_without_translations_is_not_left_behind(self):
        self.source = self.pipe("good\n" * 2)
        references = self.folder / "ref.de"
        references.write_bytes(b"gut\n\xff\xfe\n")
        self.output.write_text("what was there")
        with self.assertRaisesRegex(UserError, "ref.de, line 2: not valid UTF-8"):
            self.translate(references=str(references))
        self.assertEqual(self.output.read_text(), "what was there")

    def test_the_command_reads_stdin_and_writes_stdout(self):
        result = decode(f"--model_dir={model_dir('student')}", stdin=b"cat\n\ndog\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.decode().split("\n")
        self.assertLen(lines, 4)
        self.assertEqual(lines[1], "")

    def test_a_full_stdout_is_not_taken_for_the_file(self):
        flags = [f"--model_dir={model_dir('student')}", f"--jsonl={self.jsonl}"]
        with open("/dev/full", "wb") as full:
            result = decode(*flags, stdin=b"cat\n", stdout=full)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(last_line(result), "error: stdout: No space left on device")

    def test_a_reader_of_stdout_that_has_gone_is_no_fault_of_the_file(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)
        flags = [f"--model_dir={model_dir('student')}", f"--jsonl={self.jsonl}"]
        result = decode(*flags, stdin=b"cat\n", stdout=writer)
        self.assertEqual(result.returncode, 1)
        self.assertFalse(last_line(result).startswith("error:"), result.stderr)

    @parameterized.parameters(
        (["--tau=1.5"], "tau must be from 0 to 1"),
        (["--heuristic=fixed_k", "--tokens_per_iteration=0"], "at least 1"),
        (["--heuristic=fixed_k", "--tau=0.5"], "--tau is no setting of"),
        (["--heuristic=fixed_k", "--tau=0"], "--tau is no setting of"),
        (["--beam_size=5"], "--beam_size needs a teacher"),
        (["--input=missing.en"], "missing.en"),
        (["--nbest"], "--nbest needs --jsonl"),
        (["--passes", "--jsonl=/dev/null"], "--passes needs --nbest"),
        (["--oracle_spread=1"], "--oracle_spread needs --oracle_references"),
    )
    def test_bad_flags_are_one_line(self, flags, message):
        model = f"--model_dir={model_dir('student')}"
        result = run_command("bin/decode.py", model, *flags)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "")
        line = result.stderr.strip().split("\n")[-1]
        self.assertStartsWith(line, "error: ")
        self.assertIn(message, line)
