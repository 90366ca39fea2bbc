"""A corpus as subword ids on disk, filtered once and read by memory mapping."""

import collections
import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging

import cmlm_tf
from cmlm_tf.data.corpora import Corpus, Pair
from cmlm_tf.data.sentence_store import (
    SIDES,
    TOKEN_TYPES,
    append_sentences,
    read_manifest,
    read_sentences,
    write_manifest,
)
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.errors import UserError
from cmlm_tf.special_ids import EOS_ID
from cmlm_tf.utils.files import errors_named, new_folder
from cmlm_tf.utils.json_files import json_hash
from cmlm_tf.utils.progress import progress

FORMAT = 1
SHORT_SENTENCE = 4

_CHUNK = 10_000
_KEY_LENGTH = 12


class PreparedCorpus:
    """What `prepare_corpus` wrote.

    Attributes:
        folder: where it lies.
        manifest: counts, settings and hashes.
        source: `Sentences`, each ending in EOS.
        target: `Sentences` of the N subwords alone.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        """Opens a folder and compares its files with their hashes.

        Args:
            folder: where the corpus lies.

        Raises:
            UserError: a file is missing, cut or altered.
        """
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        self.source, self.target = (
            read_sentences(self.folder, side, self.manifest["token_type"])
            for side in SIDES
        )

    @property
    def num_pairs(self) -> int:
        """Number of sentence pairs that were kept."""
        return len(self.source)


def prepare_corpus(
    corpus: Corpus,
    subwords: SubwordModel,
    output_dir: str | os.PathLike[str],
    *,
    max_length: int = 256,
    max_length_ratio: float = 3.0,
) -> PreparedCorpus:
    """Splits a corpus into subwords, filters it and keeps the result on disk.

    The result lies in a folder of `output_dir` that is named by a hash of
    corpus, subword model and settings, and is used again while all of these
    are the same. It appears whole or not at all. Memory does not grow with the
    corpus. `select_pairs` says which pairs are dropped.

    Args:
        corpus: the sentence pairs.
        subwords: the model that splits both sides.
        output_dir: folder of prepared corpora, made where missing.
        max_length: the most subwords of either side, counting an EOS.
        max_length_ratio: the most by which one side may be longer.

    Returns:
        The corpus on disk.

    Raises:
        UserError: impossible limits, a fault in the corpus, no pair left, a disk
            error, or a damaged folder of an earlier run.
    """
    if max_length < 2 or max_length_ratio < 1:
        raise UserError(
            f"max_length {max_length} must be 2 or more, "
            f"max_length_ratio {max_length_ratio} 1 or more"
        )
    settings = {
        "format": FORMAT,
        "corpus_fingerprint": corpus.fingerprint(),
        "subword_sha256": subwords.sha256,
        "vocab_size": subwords.vocab_size,
        "max_length": max_length,
        "max_length_ratio": max_length_ratio,
    }
    folder = Path(output_dir) / json_hash(settings)[:_KEY_LENGTH]
    if folder.exists():
        logging.info("%s: prepared before, used again", folder)
        return PreparedCorpus(folder)
    try:
        with errors_named(output_dir), new_folder(folder) as temporary:
            result = _write(temporary, corpus, subwords, settings)
            write_manifest(temporary, settings | result)
    except UserError:
        if not folder.exists():  # Else another process has made it meanwhile.
            raise
    return PreparedCorpus(folder)


def select_pairs(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    max_length: int,
    max_length_ratio: float,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Tells which sentence pairs are kept and why the others are not.

    Dropped are pairs with an empty side; then pairs with a side of `max_length`
    subwords or more (EOS takes one place); then pairs in which one side is more
    than `max_length_ratio` times as long as the other, where a side shorter
    than `SHORT_SENTENCE` counts as that long.

    Args:
        source_lengths: int `[pairs]`, subwords without EOS.
        target_lengths: int `[pairs]`, likewise.
        max_length: the most subwords of either side, counting an EOS.
        max_length_ratio: the most by which one side may be longer.

    Returns:
        bool `[pairs]`, True where kept, and for each reason bool `[pairs]`, True
        where dropped for it. At each pair exactly one of them all is True.

    >>> kept, dropped = select_pairs(
    ...     np.array([3, 0, 9, 2, 2]), np.array([4, 1, 3, 6, 7]), 9, 1.5)
    >>> kept.tolist()
    [True, False, False, True, False]
    >>> {reason: np.flatnonzero(mask).tolist() for reason, mask in dropped.items()}
    {'empty': [1], 'too_long': [2], 'length_ratio': [4]}
    """
    shorter = np.minimum(source_lengths, target_lengths)
    longer = np.maximum(source_lengths, target_lengths)
    empty = shorter == 0
    too_long = ~empty & (longer >= max_length)
    fits = ~(empty | too_long)
    even = longer <= max_length_ratio * np.maximum(shorter, SHORT_SENTENCE)
    reasons = {"empty": empty, "too_long": too_long, "length_ratio": fits & ~even}
    return fits & even, reasons


def _write(
    folder: Path, corpus: Corpus, subwords: SubwordModel, settings: dict[str, Any]
) -> dict[str, Any]:
    """Writes the files of both sides; returns what the manifest tells of them."""
    token_type = np.dtype(TOKEN_TYPES[subwords.vocab_size > 1 << 16])
    limits = settings["max_length"], settings["max_length_ratio"]
    counts: collections.Counter[str] = collections.Counter()
    pairs = progress(corpus, corpus.check(), "pairs", f"preparing {corpus.name}")
    while chunk := list(itertools.islice(pairs, _CHUNK)):
        sides, found = _encode(chunk, subwords, limits)
        counts += found
        for side, sentences in zip(SIDES, sides, strict=True):
            append_sentences(folder, side, token_type, sentences)
    dropped = {name: counts[name] for name in ("empty", "too_long", "length_ratio")}
    few = 2 * counts["kept"] < counts["read"]
    logging.log(
        logging.WARNING if few else logging.INFO,
        "%s: %d of %d pairs kept; dropped: %s",
        corpus.name,
        counts["kept"],
        counts["read"],
        dropped,
    )
    if not counts["kept"]:
        raise UserError(f"{corpus.name}: no pair is left; dropped: {dropped}")
    return {
        "package_version": cmlm_tf.__version__,
        "corpus": corpus.name,
        "token_type": token_type.str,
        "num_pairs": {"read": counts["read"], "kept": counts["kept"], **dropped},
        "num_tokens": {
            side: len(read_sentences(folder, side, token_type.str).tokens)
            for side in SIDES
        },
    }


def _encode(
    chunk: list[Pair], subwords: SubwordModel, limits: tuple[int, float]
) -> tuple[list[list[list[int]]], collections.Counter[str]]:
    """Returns both sides of the pairs that are kept, and what became of how many."""
    source, target = (subwords.encode(side) for side in zip(*chunk, strict=True))
    source_lengths, target_lengths = (
        np.array([len(ids) for ids in side]) for side in (source, target)
    )
    kept, reasons = select_pairs(source_lengths, target_lengths, *limits)
    masks = {"kept": kept, **reasons, "read": np.ones_like(kept)}
    counts = collections.Counter({name: int(m.sum()) for name, m in masks.items()})
    selectors = kept.tolist()
    ended = [[*ids, EOS_ID] for ids in itertools.compress(source, selectors)]
    return [ended, list(itertools.compress(target, selectors))], counts
