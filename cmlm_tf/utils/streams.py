"""Stdin's path; stdout's errors name it, and a reader that has gone ends all."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import NoReturn

from cmlm_tf.errors import UserError


def stdin_path() -> str:
    """Returns the path under which stdin can be read."""
    if sys.stdin is None:
        raise UserError("stdin is closed")
    return "/dev/stdin"


@contextlib.contextmanager
def stdout_errors() -> Iterator[None]:
    """Names stdout in errors of the body; leaves if its reader has gone."""
    try:
        yield
    except BrokenPipeError:
        leave_closed_pipe()
    except OSError as error:
        _silence_stdout()
        raise UserError(f"stdout: {error.strerror}") from error


def leave_closed_pipe() -> NoReturn:
    """Exits with 1, without a word."""
    _silence_stdout()
    sys.exit(1)


def _silence_stdout() -> None:
    # The interpreter flushes stdout once more at exit; let that go nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
