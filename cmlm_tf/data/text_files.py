"""Lines of UTF-8 text files, streamed."""

import contextlib
import functools
import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TextIO

from cmlm_tf.errors import UserError
from cmlm_tf.utils.files import atomic_write, errors_named, is_special
from cmlm_tf.utils.streams import stdout_errors

_LINE_ENDS = str.maketrans(
    dict.fromkeys("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " ")
)
_SPACES = str.maketrans(dict.fromkeys("\0\x0b\x0c\x1c\x1d\x1e\x1f\x85", " "))


def read_lines(path: str | Path, errors: str = "strict") -> Iterator[str]:
    r"""Yields the lines of a UTF-8 file, plain, .gz or .xz.

    A line is what ends in `\n`, so neither U+2028 nor a lone `\r` ends one. One
    `\r` in front of the `\n` is dropped. Text after the last `\n` is a line too.

    Args:
        path: the file.
        errors: of `bytes.decode`; `surrogateescape` keeps the bytes that are not
            UTF-8 as surrogates, for `is_utf8` to find.

    Raises:
        UserError: names the file, and the line where the text is not UTF-8.
    """
    number = 0
    try:
        with open_by_suffix(path, "rb") as file:
            for line in file:
                number += 1
                yield decode_line(line, errors)
    except UnicodeDecodeError as error:
        raise UserError(f"{path}, line {number}: not valid UTF-8") from error
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: damaged after line {number}: {error}") from error
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error


def open_by_suffix(path: str | Path, mode: str, **kwargs: Any) -> Any:
    """Opens a file as `open` does; .gz and .xz are compressed.

    Args:
        path: the file.
        mode: as for `open`, but with the letter b or t.
        **kwargs: as for `open`.
    """
    openers: dict[str, Callable] = {".gz": gzip.open, ".xz": lzma.open}
    return openers.get(Path(path).suffix, open)(path, mode, **kwargs)


@contextlib.contextmanager
def line_writer(path: str | None) -> Iterator[Callable[[str], None]]:
    """Yields what writes a line, to a file that appears whole at the end or to stdout.

    Its errors name the file.
    """
    if path is None:
        sys.stdout.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", newline="\n"
        )
        with stdout_errors():
            os.write(sys.stdout.fileno(), b"")  # Fails at once where it is closed.
        yield functools.partial(_write_line, sys.stdout, stdout_errors)
        return
    named = functools.partial(errors_named, path)
    with (
        named(),
        atomic_write(path) as temporary,
        open_by_suffix(temporary, "wt", encoding="utf-8", newline="\n") as file,
    ):
        yield functools.partial(_write_line, file, named)


def _write_line(
    file: TextIO, errors: Callable[[], AbstractContextManager], line: str
) -> None:
    with errors():
        print(line, file=file)


def decode_line(line: bytes, errors: str = "strict") -> str:
    r"""Decodes a line and drops its end, `\n` or `\r\n`.

    >>> decode_line(b"a\rb\r\n")
    'a\rb'
    """
    return line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", errors)


def is_utf8(text: str) -> bool:
    r"""Tells whether a text can be written as UTF-8: it holds no surrogate.

    >>> is_utf8("caf\u00e9"), is_utf8("caf\udce9")
    (True, False)
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def well_formed(text: str) -> str:
    r"""Returns a text that can be written as UTF-8: `?` for each surrogate.

    >>> well_formed("caf\udce9")
    'caf?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def one_line(text: str) -> str:
    r"""Replaces the ends of a file's lines inside a text by blanks.

    >>> one_line("a\nb\rc")
    'a b c'
    """
    return text.replace("\n", " ").replace("\r", " ")


def unbroken(text: str) -> str:
    r"""Replaces all that `str.splitlines` breaks at by blanks.

    >>> unbroken("a\nb\x85c\u2028d")
    'a b c d'
    """
    return text.translate(_LINE_ENDS)


def plain_spaces(text: str) -> str:
    r"""Replaces control characters that are white space, and NUL, by blanks.

    >>> plain_spaces("a\x0bb\x00c\x85d")
    'a b c d'
    """
    return text.translate(_SPACES)


def require_text(path: str | Path) -> None:
    """Raises a `UserError` unless a file can be read twice and holds a line."""
    if is_special(path):
        raise UserError(f"{path}: must be a regular file: it is read several times")
    if next(read_lines(path), None) is None:
        raise UserError(f"{path}: the file is empty")
