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


class SentenceWriter:
    """Appends sentences to the two files of one side.

    Attributes:
        num_tokens: tokens written so far.
    """

    def __init__(self, folder: Path, side: str, token_type: np.dtype):
        """Begins the files.

        Args:
            folder: where to write.
            side: `source` or `target`.
            token_type: an integer type that holds every id.
        """
        self.num_tokens = 0
        self._token_type = token_type
        self._tokens = folder / f"{side}.tokens"
        self._offsets = folder / f"{side}.offsets"
        _append(self._offsets, np.zeros(1, _OFFSET_TYPE))

    def add(self, sentences: Sequence[Sequence[int]]) -> None:
        """Appends sentences."""
        flat = itertools.chain.from_iterable(sentences)
        tokens = np.fromiter(flat, self._token_type)
        ends = self.num_tokens + np.cumsum(list(map(len, sentences)), dtype=np.int64)
        _append(self._tokens, tokens)
        _append(self._offsets, ends.astype(_OFFSET_TYPE))
        self.num_tokens += len(tokens)


def _append(path: Path, array: np.ndarray) -> None:
    with open(path, "ab") as file:
        file.write(array.tobytes())


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
    for folder in parent.glob(".*"):
        shutil.rmtree(folder)
