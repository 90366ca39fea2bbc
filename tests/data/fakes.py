"""Stand-ins that leave the real subword model out of a test."""

import dataclasses
from collections.abc import Iterator, Sequence

from cmlm_tf.data.corpora import Corpus, Pair


@dataclasses.dataclass(frozen=True)
class NumberSubwords:
    """Reads a sentence such as `7 8 9` as its ids."""

    vocab_size: int = 1000
    sha256: str = "0" * 64

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        return [[int(word) for word in text.split()] for text in sentences]


@dataclasses.dataclass(frozen=True)
class ListCorpus(Corpus):
    """Pairs in memory."""

    pairs: Sequence[Pair]
    name: str = "list"

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def fingerprint(self) -> str:
        return str(hash(tuple(self.pairs)))


def numbers(ids: Sequence[int]) -> str:
    """Writes ids as `NumberSubwords` reads them."""
    return " ".join(map(str, ids))
