"""Folders of subword ids: flat arrays, their offsets and a manifest of hashes."""

import dataclasses
import itertools
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cmlm_tf.errors import UserError
from cmlm_tf.utils.files import errors_named, sha256_file
from cmlm_tf.utils.json_files import json_hash, read_json

SIDES = ("source", "target")

#: Of ids in files: for small and for large vocabularies.
TOKEN_TYPES = ("<u2", "<i4")
_MANIFEST = "manifest.json"
# As `new_folder` calls them while they are written: 12 digits of a hash, 8 at random.
_UNFINISHED = f".{'[0-9a-f]' * 12}.????????"
_OFFSET_TYPE = np.dtype("<i8")


@dataclasses.dataclass(frozen=True)
class Sentences:
    """Sentences of subword ids, one after the other.

    Attributes:
        tokens: uint16 or int32 `[num_tokens]`, all sentences.
        offsets: int64 `[num_sentences + 1]`; sentence i is
            `tokens[offsets[i]:offsets[i + 1]]`.
    """

    tokens: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        """Returns the number of sentences."""
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        """Returns the ids of one sentence."""
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """int64 `[num_sentences]`, tokens of each sentence."""
        return np.diff(self.offsets)


def append_sentences(
    folder: Path, side: str, token_type: np.dtype, sentences: Sequence[Sequence[int]]
) -> None:
    """Appends sentences to the two files of one side, made where missing.

    Args:
        folder: where the files lie.
        side: `source` or `target`.
        token_type: an integer type that holds every id.
        sentences: their ids.
    """
    with (
        open(folder / f"{side}.tokens", "ab") as tokens,
        open(folder / f"{side}.offsets", "ab") as offsets,
    ):
        first = tokens.tell() // token_type.itemsize
        bounds = np.cumsum([first, *map(len, sentences)], dtype=_OFFSET_TYPE)
        # The file begins with 0; later the first bound is the end that it holds.
        offsets.write(bounds[1 if offsets.tell() else 0 :].tobytes())
        flat = itertools.chain.from_iterable(sentences)
        tokens.write(np.fromiter(flat, token_type).tobytes())


def read_sentences(folder: Path, side: str, token_type: str) -> Sentences:
    """Maps the files of one side into memory.

    Raises:
        UserError: the offsets are not those of as many tokens.
    """
    try:
        tokens = np.memmap(folder / f"{side}.tokens", np.dtype(token_type), "r")
        offsets = np.memmap(folder / f"{side}.offsets", _OFFSET_TYPE, "r")
    except ValueError as error:  # An empty file, or a part of a number at the end.
        raise _damaged(folder / f"{side}.offsets") from error
    if offsets[0] or offsets[-1] != len(tokens) or (np.diff(offsets) < 1).any():
        raise _damaged(folder / f"{side}.offsets")
    return Sentences(tokens, offsets)


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Writes the folder's description with the hashes of its files and its own."""
    files = {path.name: _describe(path) for path in sorted(folder.iterdir())}
    content = {**content, "files": files}
    manifest = {"sha256": json_hash(content), "content": content}
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Returns the description, after comparing every file with its hash.

    Raises:
        UserError: a file is missing, cut or altered.
    """
    path = folder / _MANIFEST
    try:
        manifest = read_json(path)
        content = manifest["content"]
        files = content["files"]
        intact = (
            manifest["sha256"] == json_hash(content)
            and content["token_type"] in TOKEN_TYPES
            and isinstance(files, dict)
        )
    except (UserError, LookupError, TypeError) as error:
        raise _damaged(path) if path.exists() else error from error
    if not intact:
        raise _damaged(path)
    for side, part in itertools.product(SIDES, ("tokens", "offsets")):
        path = folder / f"{side}.{part}"
        with errors_named(path):
            if _describe(path) != files.get(path.name):
                raise _damaged(path)
    return content


def _describe(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": sha256_file(path)}


def _damaged(path: Path) -> UserError:
    return UserError(f"{path}: damaged; delete {path.parent} to prepare it anew")


def remove_unfinished(parent: Path) -> None:
    """Removes the temporary folders of processes that were killed.

    Args:
        parent: of the folders; no other process may be writing there.
    """
    for folder in parent.glob(_UNFINISHED):
        shutil.rmtree(folder)
