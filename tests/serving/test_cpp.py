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


def run(lines):
    folder = Path(tensorflow_text.__file__).parent / "python" / "ops"
    library = folder / "_sentencepiece_tokenizer.so"
    return subprocess.run(
        [program(), exported.export_dir(), *tensors(), library],
        input="".join(line + "\n" for line in lines).encode(),
        capture_output=True,
    )


class CppTest(tf.test.TestCase):
    def assert_same(self, found, translations):
        for line, translation in zip(found, translations, strict=True):
            iterations, length, score, text = line.split("\t")
            self.assertEqual(text, translation.text)
            self.assertEqual(int(iterations), translation.iterations)
            self.assertEqual(int(length), translation.num_tokens)
            self.assertAllClose(float(score), translation.score, atol=1e-3)

    def lines_of(self, process):
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        return process.stdout.decode().split("\n")[:-1]

    def test_defaults(self):
        lines = [line for line in LINES if "\t" not in line]
        translations = load_translator(exported.student_dir()).translate(lines)
        self.assert_same(self.lines_of(run(lines)), translations)

    def test_every_heuristic(self):
        translator = load_translator(exported.student_dir())
        rows, translations = [], []
        for heuristic, setting in SETTINGS.items():
            rows += [f"{heuristic}\t{setting}\t{line}" for line in LINES]
            options = UnmaskingOptions(heuristic, setting)
            translations += translator.translate(LINES, options)
        self.assert_same(self.lines_of(run(rows)), translations)

    def test_an_error_names_the_input(self):
        process = run(["thresh\t7\ta house"])
        self.assertEqual(process.returncode, 1)
        message = f"code {INVALID_ARGUMENT}: assertion failed: [setting: tau must be"
        self.assertIn(message, process.stderr.decode())


if __name__ == "__main__":
    tf.test.main()
