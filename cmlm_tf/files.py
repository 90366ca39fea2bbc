"""Files that are either whole or not there."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cmlm_tf.errors import UserError


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path that takes the place of `path` on success.

    The temporary file lies in the same folder and has the same suffixes. If the
    body raises, it is removed and whatever stood at `path` stays untouched.

    Args:
        path: where the finished file shall stand; its folder is made.

    Yields:
        The path to write to; an empty file stands there.

    Raises:
        UserError: no file can be written in that folder, or `path` is a folder.
    """
    path = Path(path)
    temporary = _temporary_beside(path)
    try:
        yield temporary
        _flush_to_disk(temporary)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _temporary_beside(path: Path) -> Path:
    if path.is_dir():
        raise UserError(f"{path}: is a folder")
    name, dot, suffixes = path.name.partition(".")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            prefix=f".{name[:40]}.", suffix=dot + suffixes, dir=path.parent
        )
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    os.close(handle)
    return Path(temporary)


def _flush_to_disk(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def sha256_file(path: str | os.PathLike[str]) -> str:
    """Returns the hexadecimal SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
