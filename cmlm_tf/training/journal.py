"""The journal of a distillation: what is good in a folder that is not done.

It says how many bytes of each file are good, and their hash; what was written
after its last entry is cut off when the work goes on.
"""

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cmlm_tf.data.text_files import one_line
from cmlm_tf.errors import UserError
from cmlm_tf.utils.files import errors_named, remove_leftovers
from cmlm_tf.utils.json_files import json_hash, read_json, write_json

SOURCE_FILE = "source.txt"
TARGET_FILE = "target.txt"
MANIFEST_FILE = "manifest.json"
JOURNAL_FILE = "journal.json"
FILES = (SOURCE_FILE, TARGET_FILE)

_SHA256 = "sha256 of the rest"
_HASHED_AT_ONCE = 1 << 20


@dataclasses.dataclass
class Journal:
    """What is good in the partial folder.

    Attributes:
        settings: what the result depends on.
        num_lines: lines translated.
        num_bytes: length of each file with just these lines.
        hashes: SHA-256 of each file with just these lines, to be updated.
    """

    settings: dict[str, Any]
    num_lines: int
    num_bytes: dict[str, int]
    hashes: dict[str, Any]

    def write(self, folder: Path) -> None:
        """Writes the journal's file."""
        sums = {name: hash_.hexdigest() for name, hash_ in self.hashes.items()}
        content = {"settings": self.settings, "num_lines": self.num_lines}
        content |= {"num_bytes": self.num_bytes, "sha256": sums}
        write_hashed(folder / JOURNAL_FILE, content)


def resume(partial: Path, settings: dict[str, Any]) -> Journal:
    """Opens the journal of a folder and cuts its files to what that vouches for.

    Args:
        partial: the folder.
        settings: JSON values by name, what the result depends on.

    Returns:
        The journal, a new one where there is none.

    Raises:
        UserError: it has other settings, the files are not as it says, or there are
            files with text and no journal.
    """
    for name in (JOURNAL_FILE, MANIFEST_FILE):
        remove_leftovers(partial / name)
    if (partial / JOURNAL_FILE).exists():
        journal = _read_journal(partial, settings)
    else:
        journal = _new_journal(partial, settings)
    for name in FILES:
        with open(partial / name, "ab") as file:
            file.truncate(journal.num_bytes[name])
    return journal


def _new_journal(partial: Path, settings: dict[str, Any]) -> Journal:
    path = partial / JOURNAL_FILE
    for text in (partial / name for name in FILES):
        if text.exists() and text.stat().st_size:
            raise UserError(
                f"{text}: is there without {path}; remove {partial} to start over"
            )
    hashes = {name: hashlib.sha256() for name in FILES}
    journal = Journal(settings, 0, dict.fromkeys(FILES, 0), hashes)
    journal.write(partial)
    return journal


def _read_journal(partial: Path, settings: dict[str, Any]) -> Journal:
    path = partial / JOURNAL_FILE
    with reading_hashed(path) as saved:
        check_settings(saved["settings"], settings, partial)
        num_bytes, hashes = saved["num_bytes"], {}
        for name in FILES:
            hashes[name] = _hash_start(partial / name, num_bytes[name])
            if hashes[name].hexdigest() != saved["sha256"][name]:
                raise UserError(
                    f"{partial / name}: not as {path} says; remove {partial} to "
                    "start over"
                )
        return Journal(settings, saved["num_lines"], num_bytes, hashes)


def _hash_start(path: Path, num_bytes: int) -> Any:
    """Hashes the first bytes of a file, or all there are."""
    sha256 = hashlib.sha256()
    if not num_bytes:  # Then there may be no file yet.
        return sha256
    with errors_named(path), open(path, "rb") as file:
        while part := file.read(min(num_bytes, _HASHED_AT_ONCE)):
            sha256.update(part)
            num_bytes -= len(part)
    return sha256


def append(
    partial: Path, journal: Journal, sources: list[str], targets: list[str]
) -> None:
    """Adds one chunk to both files, then to the journal.

    Raises:
        UserError: the disk is full; the journal stays as it was.
    """
    for name, lines in ((SOURCE_FILE, sources), (TARGET_FILE, targets)):
        if len(lines) != len(sources):
            raise ValueError(f"{len(lines)} translations of {len(sources)} lines")
        text = b"".join(map(_encode_line, lines))
        journal.hashes[name].update(text)
        with errors_named(partial / name), open(partial / name, "ab") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            journal.num_bytes[name] = file.tell()
    journal.num_lines += len(sources)
    journal.write(partial)


def _encode_line(text: str) -> bytes:
    r"""Encodes one line; `\n` in the text would make two of it.

    >>> _encode_line("a\nb\rc")
    b'a b c\n'
    """
    return one_line(text).encode("utf-8", "replace") + b"\n"


def hash_lines(lines: Iterable[str]) -> str:
    """Returns the SHA-256 of the file that `append` makes of lines."""
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
