"""Every command tells what it does, without any extra."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_COMMANDS = [
    str(path.relative_to(_ROOT))
    for folder in ("bin", "benchmarks")
    for path in sorted((_ROOT / folder).glob("*.py"))
    if '__name__ == "__main__"' in path.read_text("utf-8")
]

# Imports TensorFlow once and runs each command in a child.
_DRIVER = """
import multiprocessing, os, runpy, sys
import keras, tensorflow

def run(command, output):
    os.dup2(os.open(output, os.O_CREAT | os.O_WRONLY), 1)
    sys.argv = [command, "--help"]
    runpy.run_path(command, run_name="__main__")

for extra in ("apache_beam", "ctranslate2", "grpc", "sacremoses", "tensorflow_serving"):
    sys.modules[extra] = None
folder, *commands = sys.argv[1:]
fork = multiprocessing.get_context("fork")
for number, command in enumerate(commands):
    child = fork.Process(target=run, args=(command, f"{folder}/{number}"))
    child.start()
    child.join()
    print(child.exitcode)
"""


@pytest.fixture(scope="module")
def helped(tmp_path_factory):
    """Exit code and stdout of each command."""
    folder = tmp_path_factory.mktemp("help")
    result = subprocess.run(
        [sys.executable, "-c", _DRIVER, str(folder), *_COMMANDS],
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    outputs = ((folder / str(i)).read_text("utf-8") for i in range(len(_COMMANDS)))
    codes = map(int, result.stdout.split())
    return dict(zip(_COMMANDS, zip(codes, outputs, strict=True), strict=True))


@pytest.mark.parametrize("command", _COMMANDS)
def test_help_is_what_the_command_says_of_itself(helped, command):
    code, output = helped[command]
    path = _ROOT / command
    if path.parent.name == "bin":
        path = _ROOT / "cmlm_tf" / "commands" / path.name
    about = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert code == 0
    assert about.splitlines()[0] in output
