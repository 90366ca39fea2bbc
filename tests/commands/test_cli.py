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


def _command(*arguments):
    return [sys.executable, "program.py", "--config=config.py", *arguments]


def _run(folder, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        _command(*arguments),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_success(folder):
    result = _run(folder)
    assert (result.returncode, result.stdout, result.stderr) == (0, "7\n", "")


def test_config_override(folder):
    assert _run(folder, "--config.model.size=9").stdout == "9\n"


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
    result = _run(folder, *arguments)
    assert result.stderr == f"error: {line}\n"
    assert result.returncode == 1
    assert result.stdout == ""


def test_a_config_field_can_be_empty(folder):
    result = _run(folder, "--config.model.name=")
    assert (result.returncode, result.stdout) == (0, "7\n")


def test_a_list_of_which_nothing_is_a_choice_can_be_empty(folder):
    result = _run(folder, "--others=", "--more=")
    assert (result.returncode, result.stdout) == (0, "7\n")


def test_mistyped_config_field_gets_a_suggestion(folder):
    result = _run(folder, "--config.modle.size=9")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: unknown config field: ")
    assert '"model"' in result.stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\ndef get_config(:", "broken.py, line 2: SyntaxError: invalid syntax"),
        ("def get_config():\n    return size", "broken.py, line 2: NameError: name 's"),
    ],
)
def test_broken_config_file_is_named(folder, text, line):
    (folder / "broken.py").write_text(text)
    result = _run(folder, "--config=broken.py")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"error: {line}")


def test_fault_keeps_its_traceback(folder):
    result = _run(folder, "--act=fault")
    assert result.returncode == 1
    assert "Traceback" in result.stderr and "ZeroDivisionError" in result.stderr


def test_interrupt(folder):
    result = _run(folder, "--act=interrupt")
    assert (result.returncode, result.stderr) == (130, "interrupted\n")


def test_sigterm_leaves_no_unfinished_folder(folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        _command("--act=wait"), cwd=folder, env=environment, stdout=pipe, stderr=pipe
    ) as process:
        temporary = folder / process.stdout.readline().decode().strip()
        assert temporary.is_dir()
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60) == (b"", b"interrupted\n")
    assert process.returncode == 130
    assert not temporary.exists() and not (folder / "written").exists()


def test_missing_flags_are_named(folder):
    text = _PROGRAM.replace('"print", "What to do."', 'None, "", required=True')
    (folder / "program2.py").write_text(text)
    command = [sys.executable, "program2.py", "--config=config.py"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert (result.returncode, result.stderr) == (1, "error: flag --act is needed\n")


def test_help_succeeds_on_stdout(folder):
    result = _run(folder, "--help")
    assert result.returncode == 0
    assert "Shows a number." in result.stdout and "--act" in result.stdout


def test_log_lines_go_to_stderr(folder):
    result = _run(folder, "--act=log")
    assert result.stdout == ""
    assert "told" in result.stderr and "hidden" not in result.stderr
    assert "told" not in _run(folder, "--act=log", "--verbosity=-1").stderr


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
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [*shell, *_command(*arguments)],
        cwd=folder,
        env={**environment, "PYTHONUNBUFFERED": ""},
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stderr) == (code, stderr)


def test_reader_that_stops_early(folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        _command("--act=much"),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


def test_its_examples_are_true():
    # Pytest collects none from commands: two in one process define the same flags.
    assert doctest.testmod(cli) == (0, 2)
