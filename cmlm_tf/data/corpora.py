"""Parallel text by a one-line description.

    files:train.en,train.de
    tsv:train.tsv.xz?source=1&target=2&where=0:news|talks
    tfds:wmt14_translate/de-en:train?source=en&target=de
    grammar:train?seed=1&size=20000

A file whose name ends in .gz or .xz is read decompressed.
"""

import re
from pathlib import Path

from cmlm_tf.data.corpus_kinds import (
    Corpus,
    FileCorpus,
    GrammarCorpus,
    TableCorpus,
    TfdsCorpus,
)
from cmlm_tf.data.grammar import SPLIT_SIZES
from cmlm_tf.data.text_files import read_lines, require_text
from cmlm_tf.errors import UserError

__all__ = ["Corpus", "open_corpus", "read_lines"]


def open_corpus(spec: str) -> Corpus:
    """Opens the corpus that a one-line description names.

    Args:
        spec: `files:SRC,TGT`, `tsv:PATH?source=0&target=1&where=COL:VALUE|VALUE`,
            `tfds:NAME:SPLIT?source=en&target=de&data_dir=DIR` or
            `grammar:SPLIT?seed=1&size=20000`. Columns count from 0. All options
            have defaults, but for the features of tfds.

    Returns:
        The corpus. `check` looks for faults beyond its first line.

    Raises:
        UserError: a description that cannot be read, a missing or empty file.
    """
    kind, colon, rest = spec.partition(":")
    openers = {
        "files": _open_files,
        "tsv": _open_table,
        "tfds": _open_tfds,
        "grammar": _open_grammar,
    }
    if not colon or kind not in openers:
        raise UserError(
            f"corpus {spec!r}: must begin with one of "
            + ", ".join(f"{name}:" for name in openers)
        )
    return openers[kind](spec, rest)


def _open_files(spec: str, rest: str) -> FileCorpus:
    paths = [Path(path) for path in rest.split(",")]
    if len(paths) != 2:
        raise UserError(f"corpus {spec!r}: two files are needed, files:SRC,TGT")
    for path in paths:
        require_text(path)
    return FileCorpus(spec, *paths)


def _open_table(spec: str, rest: str) -> TableCorpus:
    path, options = _options(spec, rest, source="0", target="1", where="")
    require_text(Path(path))
    return TableCorpus(
        spec,
        Path(path),
        _whole_number(spec, options["source"]),
        _whole_number(spec, options["target"]),
        _selection(spec, options["where"]) if options["where"] else None,
    )


def _selection(spec: str, text: str) -> tuple[int, frozenset[str]]:
    column, colon, values = text.partition(":")
    if not colon:
        raise UserError(f"corpus {spec!r}: where={text} must be where=COLUMN:VALUE")
    return _whole_number(spec, column), frozenset(values.split("|"))


def _open_tfds(spec: str, rest: str) -> TfdsCorpus:
    path, options = _options(spec, rest, source="", target="", data_dir="")
    # A version may follow the name, and a slice of the split holds a colon too.
    match = re.fullmatch(r"([^:]+(?::\d[\d.]*)?):([^:]+(?:\[.*)?)", path)
    if not match or not options["source"] or not options["target"]:
        raise UserError(
            f"corpus {spec!r}: must read tfds:NAME:SPLIT?source=FEATURE&target=FEATURE"
        )
    dataset, split = match.groups()
    return TfdsCorpus(
        spec,
        dataset,
        split,
        options["source"],
        options["target"],
        options["data_dir"] or None,
    )


def _open_grammar(spec: str, rest: str) -> GrammarCorpus:
    split, options = _options(spec, rest, seed="1", size="")
    if split not in SPLIT_SIZES:
        raise UserError(f"corpus {spec!r}: the splits are {', '.join(SPLIT_SIZES)}")
    size = _whole_number(spec, options["size"] or str(SPLIT_SIZES[split]))
    return GrammarCorpus(spec, split, size, _whole_number(spec, options["seed"]))


def _options(spec: str, rest: str, **defaults: str) -> tuple[str, dict[str, str]]:
    """Splits `PATH?KEY=VALUE&...`; keys other than those of `defaults` are errors."""
    path, _, query = rest.partition("?")
    given = dict(item.partition("=")[::2] for item in query.split("&") if item)
    for key in given:
        if key not in defaults:
            known = ", ".join(defaults)
            raise UserError(f"corpus {spec!r}: unknown option {key!r}, not in {known}")
    return path, defaults | given


def _whole_number(spec: str, text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise UserError(f"corpus {spec!r}: {text!r} is no whole number")
    return int(text)
