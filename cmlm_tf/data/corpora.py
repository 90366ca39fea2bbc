"""Parallel text by a one-line description.

    files:train.en,train.de
    tsv:train.tsv.xz?source=1&target=2&where=0:news|talks
    tfds:wmt14_translate/de-en:train?source=en&target=de

A file whose name ends in .gz or .xz is read decompressed. All kinds stream: what is
held in memory does not grow with the corpus.
"""

import abc
import contextlib
import dataclasses
import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cmlm_tf.data.text_files import one_line, read_lines, require_text
from cmlm_tf.errors import UserError
from cmlm_tf.utils.files import sha256_file

Pair = tuple[str, str]

_TFDS_BATCH = 1000


class Corpus(abc.ABC):
    """Sentence pairs that can be read any number of times, in the same order."""

    name: str

    @abc.abstractmethod
    def __iter__(self) -> Iterator[Pair]:
        """Yields pairs of source and target text."""

    @abc.abstractmethod
    def fingerprint(self) -> str:
        """Returns a hash that changes when the pairs change."""

    def files(self, purpose: str) -> dict[str, Path]:
        """Returns the files that are read, by what they are of `purpose`."""
        del purpose
        return {}

    def check(self) -> int | None:
        """Finds faults in the text before long work starts.

        Returns:
            The number of pairs, or None where counting would take long.

        Raises:
            UserError: names what is wrong, by file and line where there is one.
        """
        return sum(1 for _ in self)


def _hash(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclasses.dataclass(frozen=True)
class FileCorpus(Corpus):
    """Two files; line i of one is the translation of line i of the other."""

    name: str
    source: Path
    target: Path

    def __iter__(self) -> Iterator[Pair]:
        """Yields the pairs; raises where the shorter file ends."""
        lines = itertools.zip_longest(read_lines(self.source), read_lines(self.target))
        for source, target in lines:
            if source is None or target is None:
                raise self._length_error()
            yield source, target

    def _length_error(self) -> UserError:
        source, target = (
            f"{path} has {sum(1 for _ in read_lines(path))} lines"
            for path in (self.source, self.target)
        )
        return UserError(f"files of different lengths: {source}, {target}")

    def fingerprint(self) -> str:
        """Hashes both files."""
        return _hash("files", sha256_file(self.source), sha256_file(self.target))

    def files(self, purpose: str) -> dict[str, Path]:
        """Names both files."""
        sides = {"source": self.source, "target": self.target}
        return {f"the {side} of {purpose}": path for side, path in sides.items()}


@dataclasses.dataclass(frozen=True)
class TableCorpus(Corpus):
    """Columns of a file of tab-separated values, without quoting or a header.

    Attributes:
        name: the description it was opened by.
        path: the file.
        source: the source column, counted from 0.
        target: the target column.
        where: a column and the values of which it must hold one, or None.
    """

    name: str
    path: Path
    source: int
    target: int
    where: tuple[int, frozenset[str]] | None

    def __iter__(self) -> Iterator[Pair]:
        """Yields the pairs of the rows that `where` selects."""
        where, values = self.where or (0, None)
        last = max(self.source, self.target, where)
        for number, line in enumerate(read_lines(self.path), start=1):
            cells = line.split("\t")
            if len(cells) <= last:
                raise UserError(
                    f"{self.path}, line {number}: {len(cells)} columns, but column "
                    f"{last} is asked for (the first is 0)"
                )
            if values is None or cells[where] in values:
                yield cells[self.source], cells[self.target]

    def fingerprint(self) -> str:
        """Hashes the file and the selection."""
        where = self.where and (self.where[0], sorted(self.where[1]))
        selection = (self.source, self.target, where)
        return _hash("tsv", sha256_file(self.path), selection)

    def files(self, purpose: str) -> dict[str, Path]:
        """Names the file."""
        return {purpose: self.path}

    def check(self) -> int | None:
        """Reads the file to the end."""
        count = super().check()
        if not count:
            raise UserError(f"{self.name}: no row matches `where`")
        return count


@dataclasses.dataclass(frozen=True)
class TfdsCorpus(Corpus):
    """Two text features of a TensorFlow Dataset, downloaded when first needed."""

    name: str
    dataset: str
    split: str
    source: str
    target: str
    data_dir: str | None

    def __iter__(self) -> Iterator[Pair]:
        """Yields the pairs in the dataset's own order."""
        batches = self._load().batch(_TFDS_BATCH).as_numpy_iterator()
        for batch in batches:
            yield from zip(
                map(_decode_line, batch[self.source]),
                map(_decode_line, batch[self.target]),
                strict=True,
            )

    def _load(self) -> Any:
        with self._faults_named() as tfds:
            dataset = tfds.load(self.dataset, split=self.split, data_dir=self.data_dir)
        for feature in (self.source, self.target):
            if feature not in dataset.element_spec:
                known = ", ".join(dataset.element_spec)
                raise UserError(f"{self.name}: no feature {feature!r}, only {known}")
        return dataset

    def fingerprint(self) -> str:
        """Hashes name, version, split and features, not the text."""
        with self._faults_named() as tfds:
            info = tfds.builder(self.dataset, data_dir=self.data_dir).info
        return _hash("tfds", info.full_name, self.split, self.source, self.target)

    def check(self) -> None:
        """Reads the first pairs."""
        if next(iter(self), None) is None:
            raise UserError(f"{self.name}: holds no sentence pair")

    @contextlib.contextmanager
    def _faults_named(self) -> Iterator[Any]:
        """Yields the library; whatever it raises becomes one line."""
        import tensorflow_datasets as tfds  # Slow to import and seldom needed.

        try:
            yield tfds
        except Exception as error:  # Builders download and parse: anything can fail.
            reason = str(error).strip().split("\n")[0]
            raise UserError(f"{self.name}: {reason}") from error


def _decode_line(text: bytes) -> str:
    return one_line(text.decode("utf-8", "replace"))


def open_corpus(spec: str) -> Corpus:
    """Opens the corpus that a one-line description names.

    Args:
        spec: `files:SRC,TGT`, `tsv:PATH?source=0&target=1&where=COL:VALUE|VALUE`,
            or `tfds:NAME:SPLIT?source=en&target=de&data_dir=DIR`. Columns count
            from 0. All options have defaults, but for the features of tfds.

    Returns:
        The corpus. `check` looks for faults beyond its first line.

    Raises:
        UserError: a description that cannot be read, a missing or empty file.
    """
    kind, colon, rest = spec.partition(":")
    openers = {"files": _open_files, "tsv": _open_table, "tfds": _open_tfds}
    try:
        if not colon or kind not in openers:
            known = ", ".join(f"{name}:" for name in openers)
            raise ValueError(f"must begin with one of {known}")
        return openers[kind](spec, rest)
    except ValueError as error:
        raise UserError(f"corpus {spec!r}: {error}") from error


def _open_files(spec: str, rest: str) -> FileCorpus:
    paths = [Path(path) for path in rest.split(",")]
    if len(paths) != 2:
        raise ValueError("two files are needed, files:SRC,TGT")
    for path in paths:
        require_text(path)
    return FileCorpus(spec, *paths)


def _open_table(spec: str, rest: str) -> TableCorpus:
    path, source, target, where = _options(rest, source="0", target="1", where="")
    require_text(Path(path))
    return TableCorpus(
        spec,
        Path(path),
        _whole_number(source),
        _whole_number(target),
        _selection(where) if where else None,
    )


def _selection(text: str) -> tuple[int, frozenset[str]]:
    column, colon, values = text.partition(":")
    if not colon:
        raise ValueError(f"where={text} must be where=COLUMN:VALUE")
    return _whole_number(column), frozenset(values.split("|"))


def _open_tfds(spec: str, rest: str) -> TfdsCorpus:
    path, source, target, data_dir = _options(rest, source="", target="", data_dir="")
    # A version may follow the name, and a slice of the split holds a colon too.
    match = re.fullmatch(r"([^:]+(?::\d[\d.]*)?):([^:]+(?:\[.*)?)", path)
    if not match or not source or not target:
        raise ValueError("must read tfds:NAME:SPLIT?source=FEATURE&target=FEATURE")
    dataset, split = match.groups()
    return TfdsCorpus(spec, dataset, split, source, target, data_dir or None)


def _options(rest: str, **defaults: str) -> tuple[str, ...]:
    """Splits `PATH?KEY=VALUE&...`; returns the path and the values of all keys."""
    path, _, query = rest.partition("?")
    given = dict(item.partition("=")[::2] for item in query.split("&") if item)
    for key in given:
        if key not in defaults:
            known = ", ".join(defaults)
            raise ValueError(f"unknown option {key!r}, not in {known}")
    return path, *(defaults | given).values()


def _whole_number(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise ValueError(f"{text!r} is no whole number")
    return int(text)
