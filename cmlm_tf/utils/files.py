"""Files that are either whole or not there."""

import contextlib
import ctypes
import errno
import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from cmlm_tf.errors import UserError

# Of Linux's renameat2: both paths are relative to the working directory; keep what
# is there; exchange.
_AT_FDCWD, _RENAME_NOREPLACE, _RENAME_EXCHANGE = -100, 1, 2
_RANDOM_LENGTH = 8  # of the names that `tempfile` makes


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path that takes the place of `path` on success.

    The temporary file lies in the same folder and has the same suffixes. If the
    body raises, it is removed and whatever stood at `path` stays untouched. A
    link stays, the file that it names is replaced. A device or a pipe cannot be
    replaced: its own path is yielded.

    Args:
        path: where the finished file shall stand; its folder is made.

    Yields:
        The path to write to; an empty file stands there.

    Raises:
        UserError: no file can be written in that folder, `path` is a folder, or the
            body fails with an `OSError` that names no file, as a full disk's.
    """
    if os.path.isdir(path):
        raise UserError(f"{path}: is a folder")
    if is_special(path):
        with _unnamed_errors_named(path):
            yield Path(path)
        return
    target = Path(os.path.realpath(path))
    with errors_named(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(*_affixes(target), target.parent)
        os.close(handle)
    temporary = Path(name)
    try:
        with _unnamed_errors_named(path):
            yield temporary
        with errors_named(path):
            _flush_to_disk(temporary)
            os.chmod(temporary, 0o644)
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


class _Abandoned(Exception):
    """Leaves a file that is there as it is."""


def check_writable(path: str | os.PathLike[str]) -> None:
    """Checks that `atomic_write` can write a file; what stands there stays.

    Raises:
        UserError: as that does.
    """
    with contextlib.suppress(_Abandoned), atomic_write(path):
        raise _Abandoned


@contextlib.contextmanager
def replaced_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary folder that takes the place of `path` on success.

    The two are exchanged at once, so that a process that is killed leaves the old
    folder or the new one; where the file system cannot do that, there is none for
    a moment. If the body raises, the old folder stays. A link stays, the folder
    that it names is replaced.

    Args:
        path: where the finished folder shall stand; its parents are made.

    Yields:
        The folder to write into, empty.

    Raises:
        UserError: `path`, or what is above it, is there but is no folder.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_dir():
        raise UserError(f"{path}: is no folder")
    with _folder_beside(target, _replace) as temporary:
        yield temporary


@contextlib.contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary folder that becomes `path` on success.

    If the body raises, nothing is left.

    Args:
        path: where the finished folder shall stand; its parents are made.

    Yields:
        The folder to write into, empty.

    Raises:
        UserError: something stands at `path`, before the body or after it, or a
            file where a folder above it should be.
    """
    target = Path(path)
    if os.path.lexists(target):
        raise UserError(f"{path}: is there already")
    with _folder_beside(target, _move_where_nothing_is) as temporary:
        yield temporary


@contextlib.contextmanager
def _folder_beside(target: Path, move: Callable[[Path, Path], None]) -> Iterator[Path]:
    """Yields an empty folder beside a path and moves it there at the end."""
    check_parents(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(*_affixes(target), target.parent))
    try:
        yield temporary
        os.chmod(temporary, 0o755)
        for file in filter(Path.is_file, temporary.rglob("*")):
            _flush_to_disk(file)
        move(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_parents(path: str | os.PathLike[str]) -> None:
    """Checks that no file stands where a folder above a path is or has to be made.

    Raises:
        UserError: names the file.
    """
    nearest = next(filter(os.path.lexists, Path(path).absolute().parents))
    if not nearest.is_dir():
        raise UserError(f"{nearest}: is no folder")


def _flush_to_disk(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _move_where_nothing_is(one: Path, other: Path) -> None:
    """Renames a folder; never replaces what another process has put there."""
    error = _renameat2(one, other, _RENAME_NOREPLACE)
    if error in (errno.ENOSYS, errno.EINVAL):  # The file system cannot do it at once.
        error = errno.EEXIST if os.path.lexists(other) else 0
        if not error:
            os.rename(one, other)
    if error == errno.EEXIST:
        raise UserError(f"{other}: is there already")
    if error:
        raise OSError(error, os.strerror(error), str(other))


def _renameat2(one: Path, other: Path, flag: int) -> int:
    """Calls Linux's renameat2; returns the number of its error, 0 for none."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return errno.ENOSYS
    paths = _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other)
    return ctypes.get_errno() if rename(*paths, flag) else 0


def _replace(new: Path, path: Path) -> None:
    if _renameat2(new, path, _RENAME_EXCHANGE) == 0:
        return
    old = tempfile.mkdtemp(*_affixes(path), path.parent)
    if path.exists():
        os.rename(path, old)
    os.rename(new, path)
    shutil.rmtree(old)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Tells whether a path is there but is neither file nor folder: a pipe, say."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


@contextlib.contextmanager
def errors_named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Makes an `OSError` of the body a `UserError` that names `path`."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error


@contextlib.contextmanager
def _unnamed_errors_named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Does so where the error names no file; a closed pipe is left to others."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None or error.strerror is None:
            raise
        raise UserError(f"{path}: {error.strerror}") from error


def _affixes(path: Path) -> tuple[str, str]:
    """Returns what stands behind and before the random part of a temporary name."""
    name, dot, suffixes = path.name.partition(".")
    return dot + suffixes, f".{name[:40]}."


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Removes what killed processes left behind while they wrote to `path`.

    Only for a path that no other process writes at the same time.

    Args:
        path: as given to `atomic_write` or `replaced_folder`.
    """
    path = Path(os.path.realpath(path))
    suffix, prefix = map(glob.escape, _affixes(path))
    for leftover in path.parent.glob(prefix + "?" * _RANDOM_LENGTH + suffix):
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink(missing_ok=True)


def sha256_file(path: str | os.PathLike[str]) -> str:
    """Returns the hexadecimal SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sha256(path: Path, expected: str, named_in: Path) -> None:
    """Checks a file against its recorded hash.

    Raises:
        UserError: where the file is missing or its bytes are others.
    """
    with errors_named(path):
        actual = sha256_file(path)
    if actual != expected:
        raise UserError(
            f"{path}: damaged or another file: its sha256 is {actual[:12]}..., "
            f"{named_in} expects {expected[:12]}..."
        )
