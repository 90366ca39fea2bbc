"""Folders of subword ids: flat arrays, their offsets and a manifest of hashes."""

import contextlib
import dataclasses
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
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
_PREPARING = ".preparing-"
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
        """Opens new files.

        Args:
            folder: where to write.
            side: `source` or `target`.
            token_type: an integer type that holds every id.
        """
        self.num_tokens = 0
        self._token_type = token_type
        self._tokens = open(folder / f"{side}.tokens", "wb")
        self._offsets = open(folder / f"{side}.offsets", "wb")
        self._offsets.write(np.zeros(1, _OFFSET_TYPE).tobytes())

    def __enter__(self) -> "SentenceWriter":
        """Returns the writer."""
        return self

    def __exit__(self, *exception: Any) -> None:
        """Closes the files."""
        self._tokens.close()
        self._offsets.close()

    def add(self, sentences: Sequence[Sequence[int]]) -> None:
        """Appends sentences."""
        flat = itertools.chain.from_iterable(sentences)
        tokens = np.fromiter(flat, self._token_type)
        ends = self.num_tokens + np.cumsum(list(map(len, sentences)), dtype=np.int64)
        self._tokens.write(tokens.tobytes())
        self._offsets.write(ends.astype(_OFFSET_TYPE).tobytes())
        self.num_tokens += len(tokens)


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
    except UserError as error:
        raise (_damaged(path) if path.exists() else error) from error
    try:
        content = manifest["content"]
        files = content["files"]
        intact = (
            manifest["sha256"] == json_hash(content)
            and content["token_type"] in TOKEN_TYPES
            and isinstance(files, dict)
        )
    except (LookupError, TypeError) as error:
        raise _damaged(path) from error
    if not intact:
        raise _damaged(path)
    for side, part in itertools.product(SIDES, ("tokens", "offsets")):
        name = f"{side}.{part}"
        _check_file(folder / name, files.get(name))
    return content


def _describe(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": sha256_file(path)}


def _check_file(path: Path, expected: Any) -> None:
    with errors_named(path):
        found = _describe(path)
    if found != expected:
        raise _damaged(path)


def _damaged(path: Path) -> UserError:
    return UserError(f"{path}: damaged; delete {path.parent} to prepare it anew")


def remove_unfinished(parent: Path) -> None:
    """Removes the temporary folders of processes that were killed.

    Args:
        parent: of the folders; no other process may be writing there.
    """
    for folder in parent.glob(f"{_PREPARING}*"):
        shutil.rmtree(folder)


@contextlib.contextmanager
def folder_when_done(folder: Path) -> Iterator[Path]:
    """Yields a temporary folder that becomes `folder` when the body succeeds.

    If another process makes `folder` meanwhile, that one stays.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=_PREPARING, dir=folder.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        with contextlib.suppress(FileExistsError):
            _rename_to_new(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _rename_to_new(temporary: Path, folder: Path) -> None:
    try:
        os.rename(temporary, folder)
    except OSError as error:
        if folder.exists():
            raise FileExistsError(error.errno, error.strerror) from error
        raise
