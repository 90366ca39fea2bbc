"""Builds and runs the C++ program that loads a SavedModel without Python."""

import functools
import subprocess
import tempfile
from pathlib import Path

import tensorflow as tf
import tensorflow_text
from tensorflow.core.protobuf import saved_model_pb2

_SOURCE = Path(__file__).parent / "cpp" / "translate.cc"
_INPUTS = ("text", "heuristic", "setting")
_OUTPUTS = ("iterations", "length", "score", "translation")


@functools.cache
def _program():
    """Builds the program against TensorFlow's wheel."""
    _program.folder = tempfile.TemporaryDirectory()
    binary = Path(_program.folder.name) / "translate"
    libraries = tf.sysconfig.get_lib()
    subprocess.run(
        ["g++", _SOURCE, "-o", binary, *tf.sysconfig.get_compile_flags()]
        + [f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
        + ["-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"],
        check=True,
    )
    return binary


def _tensors(export):
    """The tensors of serving_default, in the program's order."""
    content = (Path(export) / "saved_model.pb").read_bytes()
    graph = saved_model_pb2.SavedModel.FromString(content).meta_graphs[0]
    signature = graph.signature_def["serving_default"]
    return [signature.inputs[name].name for name in _INPUTS] + [
        signature.outputs[name].name for name in _OUTPUTS
    ]


def run(export, batches):
    """Translates batches of lines in one process, one batch after the other.

    Args:
        export: folder of the SavedModel.
        batches: lists of lines; see the program for what a line may hold.

    Returns:
        The process, which has stopped at the first batch that was refused.
    """
    folder = Path(tensorflow_text.__file__).parent / "python" / "ops"
    library = folder / "_sentencepiece_tokenizer.so"
    return subprocess.run(
        [_program(), export, *_tensors(export), library],
        input="\f\n".join("".join(f"{x}\n" for x in b) for b in batches).encode(),
        capture_output=True,
    )


def rows(process):
    """What a process has printed: iterations, length, score, translation."""
    for line in process.stdout.decode().split("\n")[:-1]:
        iterations, length, score, text = line.split("\t")
        yield int(iterations), int(length), float(score), text
