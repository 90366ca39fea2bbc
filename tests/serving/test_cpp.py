"""The export in a C++ program: the loader under TensorFlow Serving, no Python."""

import functools
import os
import shutil
import unittest

import tensorflow as tf

from tests.serving import cpp_program, exported
from tests.serving.exported import LINES, SETTINGS

INVALID_ARGUMENT = 3
NO_TABS = [line for line in LINES if "\t" not in line]


@functools.cache
def process():
    """Three batches: the defaults, every heuristic, a setting that is refused."""
    every = [f"{name}\t{SETTINGS[name]}\t{line}" for name in SETTINGS for line in LINES]
    batches = [NO_TABS, every, ["thresh\t7\ta house"]]
    return cpp_program.run(exported.export_dir(), batches)


class CppTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        # Where the project's own checks run there must be a compiler.
        if not shutil.which("g++") and "CMLM_TF_CI" not in os.environ:
            raise unittest.SkipTest("g++ is not installed")

    def assert_same(self, rows, translations):
        for row, translation in zip(rows, translations, strict=True):
            iterations, length, score, text = row
            self.assertEqual(text, translation.text)
            self.assertEqual(iterations, translation.iterations)
            self.assertEqual(length, translation.num_tokens)
            self.assertAllClose(score, translation.score, atol=1e-3)

    def test_defaults(self):
        rows = list(cpp_program.rows(process()))[: len(NO_TABS)]
        pairs = zip(LINES, exported.translations("comb_thresh"), strict=True)
        self.assert_same(rows, [found for line, found in pairs if line in NO_TABS])

    def test_every_heuristic(self):
        translations = [x for name in SETTINGS for x in exported.translations(name)]
        rows = list(cpp_program.rows(process()))[len(NO_TABS) :]
        self.assert_same(rows, translations)

    def test_an_error_names_the_input(self):
        self.assertEqual(process().returncode, 1)
        message = f"code {INVALID_ARGUMENT}: assertion failed: [setting: tau must be"
        self.assertIn(message, process().stderr.decode())


if __name__ == "__main__":
    tf.test.main()
