"""No command overwrites what it reads, or writes two things to one file."""

import os
from collections.abc import Mapping

from cmlm_tf.errors import UserError
from cmlm_tf.utils.files import is_special

#: What a command reads and writes where no file is named; may be a file, too.
STDIN, STDOUT = "/dev/stdin", "/dev/stdout"

Paths = Mapping[str, str | os.PathLike[str] | None]


def refuse_overwriting(outputs: Paths, inputs: Paths) -> None:
    """Checks that no output is an input or another output, by whatever path.

    Symbolic and hard links to one file are that file. A pipe or a device is never
    overwritten and may have several purposes.

    Args:
        outputs: what will be written, by purpose such as `--output`; None for none.
        inputs: what will be read, as well.

    Raises:
        UserError: names the output and its two purposes.
    """
    purposes: dict[object, str] = {}
    for purpose, path in (*inputs.items(), *outputs.items()):
        if path is None or is_special(path):
            continue
        other = purposes.setdefault(_identity(path), purpose)
        if purpose in outputs and other != purpose:
            raise UserError(f"{path}: named for {purpose} and for {other}")


def _identity(path: str | os.PathLike[str]) -> object:
    """Returns what is equal for all paths of a file, there or not."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino
