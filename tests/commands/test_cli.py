"""Tests of cmlm_tf.commands.cli: exit codes and the one line on stderr."""

import doctest
import os
import signal
import subprocess
import sys

import pytest

from cmlm_tf.commands import cli

_PROGRAM = '''
"""Shows a number."""
import sys
import time
from absl import flags, logging
from cmlm_tf.commands import cli
from cmlm_tf.commands.config_flag import define_config_flag
from cmlm_tf.errors import UserError
from cmlm_tf.utils.files import new_folder

_CONFIG = define_config_flag()
_PARTS = flags.DEFINE_list("parts", ["all"], "Which.")
_OTHERS = flags.DEFINE_list("others", ["all"], "Which others, or none.")
_MORE = flags.DEFINE_list("more", [], "Which more.")
_SHARE = flags.DEFINE_float("share", 0.5, "How much.", 0.0, 1.0)
cli.allow_empty(_OTHERS)
_ACT = flags.DEFINE_string("act", "print", "What to do.")

def main(argv):
    if _ACT.value == "print":
        print(_CONFIG.value.model.size)
    elif _ACT.value == "log":
        logging.info("told")
        logging.debug("hidden")
    elif _ACT.value == "user_error":
        raise UserError("train.en: no such file")
    elif _ACT.value == "missing":
        open("missing.txt")
    elif _ACT.value == "interrupt":
        raise KeyboardInterrupt
    elif _ACT.value == "wait":
        with new_folder("written") as temporary:
            print(temporary, flush=True)
            time.sleep(600)
    elif _ACT.value == "fault":
        raise ZeroDivisionError
    elif _ACT.value == "much":
        for number in range(100_000):
            print(number)

if __name__ == "__main__":
    cli.run(main)
'''

_CONFIG = """
from ml_collections import ConfigDict

def get_config(kind="small"):
    if kind != "small":
        raise ValueError(f"unknown kind {kind}")
    return ConfigDict({"model": {"size": 7, "name": "a"}})
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "program.py").write_text(_PROGRAM)
    (folder / "config.py").write_text(_CONFIG)
    return folder


def _start(folder, *arguments, redirection="", program="program.py", **environment):
    """Starts the program; `exec` lets signals reach it."""
    python = [sys.executable, program, "--config=config.py"]
    return subprocess.Popen(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *python, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _run(folder, *arguments, **how):
    """Returns exit code, stdout and stderr."""
    with _start(folder, *arguments, **how) as process:
        texts = process.communicate()
    return process.returncode, *texts


@pytest.mark.parametrize(
    ("arguments", "stdout"),
    [
        ([], "7\n"),
        (["--config.model.size=9"], "9\n"),
        # A config's field can be empty, a list of which nothing is a choice, too.
        (["--config.model.name="], "7\n"),
        (["--others=", "--more="], "7\n"),
    ],
)
def test_success(folder, arguments, stdout):
    assert _run(folder, *arguments) == (0, stdout, "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--act=user_error"], "train.en: no such file"),
        (["--act=missing"], "missing.txt: No such file or directory"),
        (["--speed=3"], "Unknown command line flag 'speed'"),
        (["three"], "unexpected argument: three"),
        (["--act="], "flag --act is empty"),
        (["--parts="], "flag --parts is empty"),
        (["--share=nan"], "flag --share=nan: must be a number"),
        (
            ["--config.model.depth=9"],
            "unknown config field: 'depth'",
        ),
        (
            ["--config.model.size=big"],
            "flag --config.model.size=big: invalid literal for int() with base 10: "
            "'big'",
        ),
        (
            ["--config=config.py:large"],
            "flag --config=config.py:large: Error whilst parsing config file: "
            "ValueError: unknown kind large",
        ),
        (
            ["--config=nowhere.py:a"],
            "flag --config=nowhere.py:a: no such file, and no config of the package: "
            "base, en_de_base, en_de_small, multi30k, toy, wmt14_en_de, wmt17_zh_en",
        ),
    ],
)
def test_what_a_user_can_mend_is_one_line(folder, arguments, line):
    assert _run(folder, *arguments) == (1, "", f"error: {line}\n")


def test_mistyped_config_field_gets_a_suggestion(folder):
    code, _, stderr = _run(folder, "--config.modle.size=9")
    assert (code, stderr.count("\n")) == (1, 1)
    assert stderr.startswith("error: unknown config field: ") and '"model"' in stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\ndef get_config(:", "broken.py, line 2: SyntaxError: invalid syntax"),
        ("def get_config():\n    return size", "broken.py, line 2: NameError: name 's"),
    ],
)
def test_broken_config_file_is_named(folder, text, line):
    (folder / "broken.py").write_text(text)
    code, _, stderr = _run(folder, "--config=broken.py")
    assert (code, stderr.count("\n")) == (1, 1)
    assert stderr.startswith(f"error: {line}")


def test_fault_keeps_its_traceback(folder):
    code, _, stderr = _run(folder, "--act=fault")
    assert code == 1
    assert "Traceback" in stderr and "ZeroDivisionError" in stderr


def test_interrupt(folder):
    assert _run(folder, "--act=interrupt") == (130, "", "interrupted\n")


def test_sigterm_leaves_no_unfinished_folder(folder):
    with _start(folder, "--act=wait") as process:
        temporary = folder / process.stdout.readline().strip()
        assert temporary.is_dir()
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60) == ("", "interrupted\n")
    assert process.returncode == 130
    assert not temporary.exists() and not (folder / "written").exists()


def test_missing_flags_are_named(folder):
    text = _PROGRAM.replace('"print", "What to do."', 'None, "", required=True')
    (folder / "other.py").write_text(text)
    expected = (1, "", "error: flag --act is needed\n")
    assert _run(folder, program="other.py") == expected


def test_help_succeeds_on_stdout(folder):
    code, stdout, _ = _run(folder, "--help")
    assert code == 0
    assert "Shows a number." in stdout and "--act" in stdout


def test_log_lines_go_to_stderr(folder):
    _, stdout, stderr = _run(folder, "--act=log")
    assert stdout == ""
    assert "told" in stderr and "hidden" not in stderr
    assert "told" not in _run(folder, "--act=log", "--verbosity=-1")[2]


@pytest.mark.parametrize(
    ("redirection", "arguments", "code", "stderr"),
    [
        (">/dev/full", [], 1, "error: stdout: No space left on device\n"),
        (">&-", [], 1, "error: stdout: Bad file descriptor\n"),
        (">&-", ["--act=nothing"], 0, ""),
        (">/dev/null 2>&-", ["--act=log"], 0, ""),
        (">/dev/null 2>&-", ["--act=user_error"], 1, ""),
    ],
)
def test_streams_that_are_full_or_closed(folder, redirection, arguments, code, stderr):
    how = {"redirection": redirection, "PYTHONUNBUFFERED": ""}
    assert _run(folder, *arguments, **how) == (code, "", stderr)


def test_reader_that_stops_early(folder):
    with _start(folder, "--act=much") as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 1


def test_its_examples_are_true():
    # Pytest collects none from commands: two in one process define the same flags.
    assert doctest.testmod(cli) == (0, 2)
