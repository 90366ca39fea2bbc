"""How every command starts and how its errors reach the user."""

import functools
import math
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from typing import NoReturn

from absl import app, flags, logging

from cmlm_tf.errors import UserError
from cmlm_tf.utils.streams import leave_closed_pipe, stdout_errors

INTERRUPTED = 130
#: By `time.monotonic`, when the command began; what takes long is imported later.
STARTED = time.monotonic()
_MAY_BE_EMPTY: set[str] = set()

# Fewer start-up notes of TensorFlow around the one line that a user needs. It is
# read when TensorFlow is imported; the commands import this module before that.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

# A file that is opened later must not get the number of a closed stream, for then
# it would get the log lines too. What is written to this stdout fails.
if sys.stdout is None:
    sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
if sys.stderr is None:
    sys.stderr = open(os.devnull, "w")


def run(main: Callable[[Sequence[str]], None]) -> None:
    """Runs `main` under absl; what a user can mend is one line on stderr.

    Exits with 0 only if `main` returned and all of stdout was written, or help
    was asked for; with 1 after the line `error: ...` for a `UserError`, a bad
    flag, a bad config field or file, or a file that cannot be read or written; with
    130 after Ctrl-C or SIGTERM, which leave no unfinished file. Any other exception
    is a fault of the program and keeps its traceback.

    Args:
        main: takes the arguments; only the program's name is left in them. The flags
            and the docstring of its module are what `--help` shows.
    """
    module = sys.modules[main.__module__]
    sys.modules["__main__"].__doc__ = module.__doc__
    shown = flags.FLAGS.get_key_flags_for_module(module.__name__)
    sys.argv[0] = os.path.basename(sys.argv[0])
    for flag in shown:
        flags.FLAGS.register_key_flag_for_module(sys.argv[0], flag)
    flags.FLAGS.set_default("verbosity", logging.INFO)
    app.run(lambda arguments: _guarded(main, arguments), flags_parser=_parse_flags)


def command(main: Callable[[Sequence[str]], None]) -> Callable[[], None]:
    """Makes `main` what pip installs as a command: called without arguments."""
    return functools.wraps(main)(functools.partial(run, main))


def allow_empty(flag: flags.FlagHolder) -> None:
    """Lets a flag be given as empty: for a list of which nothing is a choice, too."""
    _MAY_BE_EMPTY.add(flag.name)


def _parse_flags(arguments: Sequence[str]) -> Sequence[str]:
    try:
        rest = flags.FLAGS(arguments)
    except (AttributeError, KeyError) as error:
        _fail(f"unknown config field: {_missing_field(error)}")
    except BrokenPipeError:
        leave_closed_pipe()
    except (flags.Error, OSError, TypeError, ValueError) as error:
        _fail(_one_line(error))
    except Exception as error:  # A config file is a program: anything can fail.
        path, line = re.findall(r'File "(.+)", line (\d+)', traceback.format_exc())[-1]
        _fail(f"{path}, line {line}: {type(error).__name__}: {_one_line(error)}")
    except SystemExit:
        # absl prints the help that was asked for, then leaves with 1.
        sys.exit(0)
    if len(rest) > 1:
        _fail(f"unexpected argument: {rest[1]}")
    _refuse_empty_flags()
    _refuse_no_numbers()
    return rest


def _refuse_empty_flags() -> None:
    """Refuses flags such as `--output=$NOT_SET`; a config's fields can be empty."""
    for name in flags.FLAGS:
        flag = flags.FLAGS[name]
        is_given = "." not in name and flag.value != flag.default
        if is_given and flag.value in ("", []) and name not in _MAY_BE_EMPTY:
            _fail(f"flag --{name} is empty")


def _refuse_no_numbers() -> None:
    """Refuses NaN, which no bound of a flag holds back."""
    for name in flags.FLAGS:
        value = flags.FLAGS[name].value
        if isinstance(value, float) and math.isnan(value):
            _fail(f"flag --{name}={value}: must be a number")


def _guarded(main: Callable[[Sequence[str]], None], arguments: Sequence[str]) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        main(arguments)
        with stdout_errors():
            sys.stdout.flush()
    except BrokenPipeError:
        leave_closed_pipe()
    except (UserError, OSError) as error:
        _fail(_one_line(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _one_line(error: Exception) -> str:
    """Tells an error in one line, without the traceback some carry as text.

    >>> _one_line(FileNotFoundError(2, "No such file or directory", "a.en"))
    'a.en: No such file or directory'
    >>> _one_line(ValueError("flag --a=None: Flag --a must have a value other than"))
    'flag --a is needed'
    """
    if isinstance(error, OSError):
        # ml_collections chains the reason why a config file was not loaded.
        error = error.__cause__ if isinstance(error.__cause__, OSError) else error
        if error.filename is not None:
            return f"{error.filename}: {error.strerror}"
    missing = re.findall(r"flag --(\w+)=None: Flag --\1 must have a value", str(error))
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        return f"flag --{', --'.join(missing)} {verb} needed"
    before, traceback, after = str(error).partition("Traceback (most recent call last)")
    reason = after.strip().splitlines()[-1] if traceback else ""
    return " ".join(f"{before} {reason}".split())


def _missing_field(error: AttributeError | KeyError) -> str:
    """Unpacks ml_collections' error, which it may wrap in another."""
    reason = error.args[0]
    while isinstance(reason, Exception):
        reason = reason.args[0]
    return " ".join(str(reason).split())


def _fail(line: str) -> NoReturn:
    print(f"error: {line}", file=sys.stderr)
    sys.exit(1)
