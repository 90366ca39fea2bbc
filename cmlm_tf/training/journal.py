"""The journal of a distillation: what is good in a folder that is not done.

It says how many bytes of each file are good, and their hash; what was written
after its last entry is cut off when the work goes on.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cmlm_tf.data.text_files import one_line
from cmlm_tf.errors import UserError
from cmlm_tf.utils.files import errors_named, remove_leftovers
from cmlm_tf.utils.json_files import json_hash, read_json, write_json

#: Of source and target, line by line.
FILES = ("source.txt", "target.txt")
MANIFEST_FILE = "manifest.json"
JOURNAL_FILE = "journal.json"

_SHA256 = "sha256 of the rest"
_HASHED_AT_ONCE = 1 << 20


class Journal:
    """What is good in the partial folder.

    Attributes:
        settings: what the result depends on.
        num_lines: lines translated.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]):
        """Opens a folder's journal and cuts the files to what that vouches for.

        Args:
            folder: the partial folder; it gets a journal if it has none.
            settings: JSON values by name, what the result depends on.

        Raises:
            UserError: the journal has other settings, the files are not as it says,
                or there are files with text and no journal.
        """
        self.settings, self.num_lines = settings, 0
        self._folder, self._path = folder, folder / JOURNAL_FILE
        self._num_bytes = dict.fromkeys(FILES, 0)
        self._hashes = {name: hashlib.sha256() for name in FILES}
        for path in (self._path, folder / MANIFEST_FILE):
            remove_leftovers(path)
        if self._path.exists():
            self._read()
        else:
            self._check_no_text()
            self._write()
        for name in FILES:
            with open(folder / name, "ab") as file:
                file.truncate(self._num_bytes[name])

    @property
    def sha256(self) -> dict[str, str]:
        """SHA-256 of each file with just the lines that are good."""
        return {name: hash_.hexdigest() for name, hash_ in self._hashes.items()}

    def _read(self) -> None:
        with reading_hashed(self._path) as saved:
            check_settings(saved["settings"], self.settings, self._folder)
            self.num_lines, self._num_bytes = saved["num_lines"], saved["num_bytes"]
            for name, sha256 in self._hashes.items():
                _hash_start(self._folder / name, self._num_bytes[name], sha256)
                if sha256.hexdigest() != saved["sha256"][name]:
                    raise UserError(
                        f"{self._folder / name}: not as {self._path} says; remove "
                        f"{self._folder} to start over"
                    )

    def _check_no_text(self) -> None:
        for text in (self._folder / name for name in FILES):
            if text.exists() and text.stat().st_size:
                raise UserError(
                    f"{text}: is there without {self._path}; remove {self._folder} to "
                    "start over"
                )

    def _write(self) -> None:
        content = {"settings": self.settings, "num_lines": self.num_lines}
        content |= {"num_bytes": self._num_bytes, "sha256": self.sha256}
        write_hashed(self._path, content)

    def append(self, sources: list[str], targets: list[str]) -> None:
        """Adds as many lines to both files, then to the journal.

        Raises:
            UserError: the disk is full; the journal stays as it was.
        """
        for name, lines in zip(FILES, (sources, targets), strict=True):
            text = b"".join(map(_encode_line, lines))
            self._hashes[name].update(text)
            path = self._folder / name
            with errors_named(path), open(path, "ab") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                self._num_bytes[name] = file.tell()
        self.num_lines += len(sources)
        self._write()


def _hash_start(path: Path, num_bytes: int, sha256: Any) -> None:
    """Hashes the first bytes of a file, or all there are."""
    if not num_bytes:  # Then there may be no file yet.
        return
    with errors_named(path), open(path, "rb") as file:
        while part := file.read(min(num_bytes, _HASHED_AT_ONCE)):
            sha256.update(part)
            num_bytes -= len(part)


def _encode_line(text: str) -> bytes:
    r"""Encodes one line; `\n` in the text would make two of it.

    >>> _encode_line("a\nb\rc")
    b'a b c\n'
    """
    return one_line(text).encode("utf-8", "replace") + b"\n"


def hash_lines(lines: Iterable[str]) -> str:
    """Returns the SHA-256 of the file that `Journal.append` makes of lines."""
    sha256 = hashlib.sha256()
    for line in lines:
        sha256.update(_encode_line(line))
    return sha256.hexdigest()


def check_settings(
    saved: dict[str, Any], settings: dict[str, Any], folder: Path
) -> None:
    """Raises a `UserError` that names the first setting with another value."""
    for name, value in settings.items():
        before = saved.get(name)
        if before != value:
            raise UserError(
                f"{folder}: made with {name} {before!r}, asked for {value!r}; use "
                "another output folder, or remove this one"
            )


def write_hashed(path: Path, content: dict[str, Any]) -> None:
    """Writes JSON with its own hash in it."""
    write_json(path, {_SHA256: json_hash(content)} | content)


@contextlib.contextmanager
def reading_hashed(path: Path) -> Iterator[Any]:
    """Yields what `write_hashed` wrote; an error in the body means damage.

    Raises:
        UserError: the file is missing, altered or another one.
    """
    try:
        content = read_json(path)
    except UserError as error:
        raise UserError(f"{error}; not a distilled corpus") from error
    try:
        if content.pop(_SHA256) != json_hash(content):
            raise ValueError("another hash")
        yield content
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: damaged") from error
