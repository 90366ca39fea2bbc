"""Translates whole files: one output line for each input line."""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from absl import logging

from cmlm_tf.data.text_files import is_utf8, line_writer, one_line, read_lines
from cmlm_tf.errors import UserError
from cmlm_tf.translate.results import Candidate, Translation
from cmlm_tf.translate.translator import Translator
from cmlm_tf.utils.files import is_special
from cmlm_tf.utils.progress import Progress
from cmlm_tf.utils.streams import stdin_path

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
    watch: Callable[[list[str], list[str] | None], None] | None = None,
) -> None:
    """Translates a file or stdin into a file or stdout.

    A byte of the source that is not UTF-8 is read as `?`; one warning counts lines
    with such bytes.

    Args:
        translator: the model.
        source: path of the input lines, or None for stdin.
        output: path of the translations, or None for stdout.
        options: `UnmaskingOptions` or `BeamOptions`.
        references: file with target text whose lengths to use.
        jsonl: file for one JSON object a line, with scores and iterations.
        nbest: whether the objects hold all candidates, and their passes where
            the options ask for a trace.
        watch: gets lines and their references, or None, once they are translated.

    Raises:
        UserError: a missing file, references that are not UTF-8, files of different
            lengths. Only stdout and pipes can hold a part then.
    """
    source = source or stdin_path()
    counter = Progress(_num_lines(source, references), "lines", "translating")
    num_split = num_bad = num_lines = 0
    json_lines = line_writer(jsonl) if jsonl else contextlib.nullcontext()
    with line_writer(output) as write, json_lines as write_json:
        for lines, others in _chunks(source, references):
            num_lines += len(lines)
            num_bad += len(lines) - sum(map(is_utf8, lines))
            for translation in translator.translate(lines, options, others, warn=False):
                num_split += len(translation.candidates) > 1
                write(one_line(translation.text))
                if write_json:
                    write_json(as_json(translation, nbest))
            if watch:
                watch(lines, others)
            counter.advance(len(lines))
    counter.close()
    translator.warn_of_split(num_split, num_lines)
    if num_bad:
        logging.warning("%d of %d lines are not valid UTF-8", num_bad, num_lines)


def as_json(translation: Translation, nbest: bool) -> str:
    """Returns the JSON line of a translation."""
    record = dataclasses.asdict(translation)
    del record["candidates"]
    if nbest:
        record["candidates"] = [
            [_candidate_record(candidate) for candidate in part]
            for part in translation.candidates
        ]
    return json.dumps(record, ensure_ascii=False)


def _candidate_record(candidate: Candidate) -> dict[str, Any]:
    record = dataclasses.asdict(candidate)
    if record["score"] == float("-inf"):
        record["score"] = None
    return record


def _num_lines(source: str, references: str | None) -> int | None:
    """Counts the lines and checks the references, unless one can be read but once."""
    if is_special(source) or (references and is_special(references)):
        return None
    return sum(len(lines) for lines, _ in _chunks(source, references))


def _chunks(
    source: str, references: str | None
) -> Iterator[tuple[list[str], list[str] | None]]:
    """Yields lines and their references; raises if there are not as many."""
    lines = read_lines(source, "surrogateescape")
    others = read_lines(references) if references else iter(())
    done = 0
    while True:
        chunk, part = (list(islice(side, LINES_PER_CHUNK)) for side in (lines, others))
        if references and len(chunk) != len(part):
            num_lines = done + len(chunk) + sum(1 for _ in lines)
            num_others = done + len(part) + sum(1 for _ in others)
            raise UserError(
                f"{source} has {num_lines} lines, {references} has {num_others}"
            )
        if not chunk:
            return
        yield chunk, part if references else None
        done += len(chunk)
