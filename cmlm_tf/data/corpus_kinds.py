"""The kinds of parallel text: files, tables, TensorFlow Datasets, the grammar.

All stream: what is held in memory does not grow with the corpus.
"""

import abc
import contextlib
import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cmlm_tf.data.grammar import grammar_pairs
from cmlm_tf.data.text_files import one_line, read_lines
from cmlm_tf.errors import UserError
from cmlm_tf.utils.files import sha256_file

Pair = tuple[str, str]

_GRAMMAR_SAMPLE = 256
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
        if next(iter(self), None) is None:
            raise UserError(f"{self.name}: holds no sentence pair")
        return None


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

    def check(self) -> int:
        """Reads both files to the end."""
        return sum(1 for _ in self)


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

    def check(self) -> int:
        """Reads the file to the end."""
        count = sum(1 for _ in self)
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


@dataclasses.dataclass(frozen=True)
class GrammarCorpus(Corpus):
    """Sentences of the embedded English-German grammar."""

    name: str
    split: str
    size: int
    seed: int

    def __iter__(self) -> Iterator[Pair]:
        """Generates the pairs."""
        return grammar_pairs(self.split, self.size, self.seed)

    def fingerprint(self) -> str:
        """Hashes the settings and the first pairs, which change with the grammar."""
        sample = list(itertools.islice(self, _GRAMMAR_SAMPLE))
        return _hash("grammar", self.split, self.size, self.seed, sample)

    def check(self) -> int:
        """Returns the size asked for."""
        super().check()
        return self.size
