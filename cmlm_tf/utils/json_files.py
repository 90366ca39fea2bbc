"""Small JSON files: read with care, written whole or not at all."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cmlm_tf.errors import UserError
from cmlm_tf.utils.files import atomic_write, errors_named

#: Bytes of a JSON file; none that is written here comes near.
LARGEST_JSON = 1 << 20


def read_json(path: Path) -> Any:
    """Reads a small JSON file that may come from others.

    Raises:
        UserError: it is missing, no regular file, too large or no JSON.
    """
    with errors_named(path):
        size = path.stat().st_size
    if path.is_dir():
        raise UserError(f"{path}: is a folder")
    if not path.is_file() or size > LARGEST_JSON:
        raise UserError(f"{path}: no file of at most {LARGEST_JSON} bytes")
    try:
        with errors_named(path):
            return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid JSON: {error}") from error


def write_json(
    path: str | os.PathLike[str],
    content: Any,
    default: Callable[[Any], Any] | None = None,
) -> None:
    """Writes a value as indented JSON, the file whole or not at all.

    Args:
        path: the file; its folder is made.
        content: the value.
        default: maps what JSON does not have to what it has.

    Raises:
        UserError: the file cannot be written.
    """
    text = json.dumps(content, indent=1, default=default) + "\n"
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def json_hash(content: Any) -> str:
    """Returns the SHA-256 of a value's JSON form, whatever the order of its keys.

    >>> json_hash({"a": 1, "b": 2}) == json_hash({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
