"""Runs commands as a user does, but imports TensorFlow once for all of them."""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: A process that only imports, and from which each command is forked. What it imports
#: defines no flags and needs no extra, so that a test can take one away.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "keras",
        "ml_collections.config_flags",
        "tensorflow",
        "cmlm_tf.evaluation.calibrate",
        "cmlm_tf.evaluation.report",
        "cmlm_tf.training.distillation",
        "cmlm_tf.training.trainer",
        "cmlm_tf.translate.whole_files",
    ]
)


def run_command(command, *flags, cwd=None, stdin=os.devnull, missing=()):
    """Runs a script in a process of its own.

    Args:
        command: the script, from the root of the repository.
        *flags: its arguments.
        cwd: the folder to run it in, this one if None.
        stdin: path of what it reads.
        missing: names of modules that it does not find.

    Returns:
        The finished process, with stdout and stderr as text.
    """
    with tempfile.TemporaryDirectory() as folder:
        stdin = os.path.abspath(stdin)
        streams = [stdin, f"{folder}/stdout", f"{folder}/stderr"]
        arguments = [str(ROOT / command), *map(str, flags)]
        process = start_process(
            _run, arguments, cwd or os.getcwd(), missing, streams=streams
        )
        process.join()
        texts = [Path(path).read_text("utf-8") for path in streams[1:]]
    return subprocess.CompletedProcess(arguments, process.exitcode, *texts)


def start_process(function, *args, streams, **environment):
    """Starts a function in a process of its own, before TensorFlow has begun.

    Args:
        function: one of a module.
        *args: what it is called with.
        streams: paths of stdin, stdout and stderr.
        **environment: variables that are other than here.

    Returns:
        The process.
    """
    args = (function, args, streams, environment)
    process = CONTEXT.Process(target=_begin, args=args)
    process.start()
    return process


def run_function(function, *args, log, **environment):
    """Runs a function as `start_process` does; returns its stderr, the file `log`."""
    streams = [os.devnull, os.devnull, log]
    process = start_process(function, *args, streams=streams, **environment)
    process.join()
    told = Path(log).read_text("utf-8")
    assert process.exitcode == 0, told
    return told


def _begin(function, args, streams, environment):
    os.environ.update(environment)
    for number, path in enumerate(streams):
        mode = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        os.dup2(os.open(path, mode), number)
    sys.stdin = open(0)
    function(*args)


def _run(arguments, folder, missing):
    sys.argv = arguments
    sys.modules.update(dict.fromkeys(missing))
    os.chdir(folder)
    runpy.run_path(arguments[0], run_name="__main__")
