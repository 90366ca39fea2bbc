"""Output folders that one process at a time may write."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from cmlm_tf.data.text_files import is_utf8
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import read_description
from cmlm_tf.utils.files import errors_named


@contextlib.contextmanager
def exclusive_folder(folder: Path) -> Iterator[None]:
    """Makes a folder and keeps other processes out of it.

    The lock ends with the process, however it ends, and leaves no file.

    Args:
        folder: made with its parents where missing.

    Raises:
        UserError: another process holds it, it cannot be made, or its name is not
            UTF-8, which TensorFlow's files need.
    """
    if not is_utf8(os.fspath(folder)):
        raise UserError(f"{folder}: the name is not UTF-8")
    with errors_named(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise UserError(f"{folder}: another run is writing here") from error
    finally:
        os.close(handle)


@contextlib.contextmanager
def full_disk_named(folder: Path) -> Iterator[None]:
    """Makes a user's error of TensorFlow's when its logs do not fit the disk."""
    try:
        yield
    except tf.errors.OpError as error:
        if os.strerror(errno.ENOSPC) not in str(error):
            raise
        raise UserError(f"{folder}: {os.strerror(errno.ENOSPC)}") from error


def check_best_model(folder: Path) -> None:
    """Checks that the best model so far still lies in the folder of a run.

    Raises:
        UserError: it does not; a run that went on might never have a better one.
    """
    try:
        read_description(folder / "model")
    except UserError as error:
        raise UserError(
            f"{error}; bring back {folder / 'model'}, or remove "
            f"{folder / 'checkpoint'} to start over"
        ) from error
