"""Translates whole files: one output line for each input line."""

import contextlib
import dataclasses
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from cmlm_tf.data.text_files import one_line, read_lines
from cmlm_tf.errors import UserError
from cmlm_tf.files import atomic_write
from cmlm_tf.progress import Progress
from cmlm_tf.translation import Candidate, Translation
from cmlm_tf.translator import Translator

#: Lines translated together: enough to sort them into batches of like length.
LINES_PER_CHUNK = 4096


def translate_file(
    translator: Translator,
    source: str | None,
    output: str | None,
    options: Any,
    *,
    references: str | None = None,
    jsonl: str | None = None,
    nbest: bool = False,
) -> None:
    """Translates a file or stdin into a file or stdout.

    Args:
        translator: the model.
        source: path of the input lines, or None for stdin.
        output: path of the translations, or None for stdout.
        options: `UnmaskingOptions` or `BeamOptions`.
        references: file with target text whose lengths to use.
        jsonl: file for one JSON object a line, with scores and iterations.
        nbest: whether the objects hold all candidates, and their passes where
            the options ask for a trace.

    Raises:
        UserError: a file that is missing or not UTF-8, or files of different
            lengths; nothing is written then, but for what went to stdout.
    """
    total = None if source is None else sum(1 for _ in read_lines(source))
    if references is not None and total is not None:
        num_references = sum(1 for _ in read_lines(references))
        if num_references != total:
            raise UserError(
                f"{source} has {total} lines, {references} has {num_references}"
            )
    counter = Progress(total, "lines", "translating")
    with _writer(output) as text_file, _writer(jsonl, discard=True) as json_file:
        for lines, chunk_references in _chunks(source, references):
            translations = translator.translate(lines, options, chunk_references)
            for translation in translations:
                print(one_line(translation.text), file=text_file)
                record = as_record(translation, nbest)
                print(json.dumps(record, ensure_ascii=False), file=json_file)
            counter.advance(len(lines))
    counter.close()


def as_record(translation: Translation, nbest: bool) -> dict[str, Any]:
    """Returns what a JSON line holds of a translation."""
    record = dataclasses.asdict(translation)
    if not nbest:
        del record["candidates"]
        return record
    record["candidates"] = [
        [_candidate_record(candidate) for candidate in part]
        for part in translation.candidates
    ]
    return record


def _candidate_record(candidate: Candidate) -> dict[str, Any]:
    record = dataclasses.asdict(candidate)
    if record["score"] == float("-inf"):
        record["score"] = None
    return record


def _chunks(
    source: str | None, references: str | None
) -> Iterator[tuple[list[str], Sequence[str] | None]]:
    lines = read_lines("/dev/stdin" if source is None else source)
    others = None if references is None else read_lines(references)
    while chunk := list(islice(lines, LINES_PER_CHUNK)):
        if others is None:
            yield chunk, None
        else:
            yield chunk, list(islice(others, len(chunk)))


@contextlib.contextmanager
def _writer(path: str | None, discard: bool = False) -> Iterator[TextIO | Any]:
    """Yields a file that appears whole at the end; without a path, stdout."""
    if path is None:
        yield _Discard() if discard else _utf8_stdout()
        return
    try:
        with (
            atomic_write(Path(path)) as temporary,
            open(temporary, "w", encoding="utf-8", newline="\n") as file,
        ):
            yield file
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error


def _utf8_stdout() -> TextIO:
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    return sys.stdout


class _Discard:
    """A file that forgets."""

    def write(self, text: str) -> int:
        """Takes the text."""
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Takes the lines."""
