"""The export in a C++ program: the loader under TensorFlow Serving, no Python."""

import functools
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import tensorflow as tf
import tensorflow_text
from absl.testing import parameterized
from tensorflow.core.protobuf import saved_model_pb2

from cmlm_tf.options import UnmaskingOptions
from cmlm_tf.translator import load_translator
from tests.serving import exported
from tests.serving.exported import LINES, SETTINGS

SOURCE = Path(__file__).parent / "cpp" / "translate.cc"
INPUTS = ("text", "heuristic", "setting")
OUTPUTS = ("iterations", "length", "score", "translation")
INVALID_ARGUMENT = 3


def compiler():
    """The compiler; where the project's own checks run there must be one."""
    if not shutil.which("g++") and "CMLM_TF_CI" not in os.environ:
        raise unittest.SkipTest("g++ is not installed")
    return "g++"


@functools.cache
def program():
    """Builds the program against TensorFlow's wheel."""
    program.folder = tempfile.TemporaryDirectory()
    binary = Path(program.folder.name) / "translate"
    libraries = tf.sysconfig.get_lib()
    subprocess.run(
        [compiler(), SOURCE, "-o", binary, *tf.sysconfig.get_compile_flags()]
        + [f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
        + ["-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"],
        check=True,
    )
    return binary


@functools.cache
def tensors():
    """The tensors of serving_default, in the program's order."""
    content = (exported.export_dir() / "saved_model.pb").read_bytes()
    graph = saved_model_pb2.SavedModel.FromString(content).meta_graphs[0]
    signature = graph.signature_def["serving_default"]
    return [signature.inputs[name].name for name in INPUTS] + [
        signature.outputs[name].name for name in OUTPUTS
    ]


def run(lines, heuristic="-", setting=0.0):
    folder = Path(tensorflow_text.__file__).parent / "python" / "ops"
    library = folder / "_sentencepiece_tokenizer.so"
    arguments = [exported.export_dir(), heuristic, str(setting), *tensors(), library]
    return subprocess.run(
        [program(), *arguments],
        input="".join(line + "\n" for line in lines).encode(),
        capture_output=True,
    )


class CppTest(tf.test.TestCase, parameterized.TestCase):
    def check(self, options, *arguments):
        process = run(LINES, *arguments)
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        found = process.stdout.decode().split("\n")[:-1]
        translations = load_translator(exported.student_dir()).translate(LINES, options)
        for line, translation in zip(found, translations, strict=True):
            iterations, length, score, text = line.split("\t")
            self.assertEqual(text, translation.text)
            self.assertEqual(int(iterations), translation.iterations)
            self.assertEqual(int(length), translation.num_tokens)
            self.assertAllClose(float(score), translation.score, atol=1e-3)

    def test_defaults(self):
        self.check(UnmaskingOptions())

    @parameterized.parameters(*SETTINGS)
    def test_every_heuristic(self, heuristic):
        setting = SETTINGS[heuristic]
        self.check(UnmaskingOptions(heuristic, setting), heuristic, setting)

    def test_an_error_names_the_input(self):
        process = run(["a house"], "thresh", 7)
        self.assertEqual(process.returncode, 1)
        message = f"code {INVALID_ARGUMENT}: assertion failed: [setting: tau must be"
        self.assertIn(message, process.stderr.decode())


if __name__ == "__main__":
    tf.test.main()
