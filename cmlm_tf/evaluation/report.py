"""The scores of one output file."""

import dataclasses
import json
import os
from collections.abc import Iterator, Sequence

from cmlm_tf.data.text_files import read_lines
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.bleu import (
    NUM_RESAMPLES,
    CorpusScore,
    chrf,
    has_moses,
    sacre_bleu,
    tokenized_bleu,
)
from cmlm_tf.evaluation.faults import FaultRates, describe, fault_rates
from cmlm_tf.evaluation.speed import TokensPerIteration, tokens_per_iteration
from cmlm_tf.translate.results import Translation
from cmlm_tf.utils.files import atomic_write

# Numbers in a line of the decoder's JSON.
_COUNTS = ("num_tokens", "iterations", "selected_iterations", "summed_iterations")

_LARGEST_COUNT = 10**9

_NO_MOSES = frozenset({"zh", "ja", "ko", "th"})


@dataclasses.dataclass(frozen=True)
class Report:
    """The scores of one output file; None where not measured."""

    num_sentences: int
    bleu: CorpusScore
    chrf: CorpusScore
    tokenized_bleu: CorpusScore | None
    tokens_per_iteration: TokensPerIteration | None
    faults: FaultRates
    faults_of_references: FaultRates

    def __str__(self) -> str:
        """Returns one line for each figure."""
        return "\n".join(f"{name:<28}{value}" for name, value in self._figures())

    def _figures(self) -> Iterator[tuple[str, object]]:
        yield "sentences", self.num_sentences
        yield "BLEU", f"{self.bleu}  {self.bleu.signature}"
        yield "chrF", f"{self.chrf}  {self.chrf.signature}"
        if self.tokenized_bleu is not None:
            yield "tokenised BLEU", self.tokenized_bleu
        if self.tokens_per_iteration is not None:
            for name, value in dataclasses.asdict(self.tokens_per_iteration).items():
                yield f"tokens/iteration, {name}", f"{value:.2f}"
        yield from describe(self.faults, self.faults_of_references)


def evaluate_files(
    hypotheses: str,
    references: str,
    target_language: str,
    decoded: str | None = None,
    num_resamples: int = NUM_RESAMPLES,
    sources: str | None = None,
) -> Report:
    """Scores an output file against a reference file.

    Args:
        hypotheses: file of translations, one a line.
        references: file of as many references.
        target_language: two-letter code.
        decoded: the decoder's JSON lines of the same output, for the speed.
        num_resamples: bootstrap resamples for the intervals; 0 for none.
        sources: file of the source lines, for the rate of copies.

    Returns:
        All scores; tokenised BLEU where sacremoses is installed and the
        language is written with spaces.

    Raises:
        UserError: a file is missing, empty or damaged, the files differ in their
            number of lines, or `decoded` is of another output.
    """
    outputs, targets = list(read_lines(hypotheses)), list(read_lines(references))
    _check_equal_lengths(hypotheses, len(outputs), references, len(targets))
    inputs = None if sources is None else list(read_lines(sources))
    if inputs is not None:
        _check_equal_lengths(str(sources), len(inputs), references, len(targets))
    speed = None
    if decoded is not None:
        records = list(_read_records(decoded))
        _check_equal_lengths(decoded, len(records), references, len(targets))
        _check_equal_texts(decoded, records, hypotheses, outputs)
        speed = tokens_per_iteration(records)
    tokenized = None
    if has_moses() and target_language not in _NO_MOSES:
        tokenized = tokenized_bleu(outputs, targets, target_language)
    return Report(
        num_sentences=len(outputs),
        bleu=sacre_bleu(outputs, targets, target_language, num_resamples),
        chrf=chrf(outputs, targets, num_resamples),
        tokenized_bleu=tokenized,
        tokens_per_iteration=speed,
        faults=fault_rates(outputs, targets, target_language, inputs),
        faults_of_references=fault_rates(targets, targets, target_language, inputs),
    )


def write_report(report: Report, path: str | os.PathLike[str]) -> None:
    """Writes a report as one JSON object."""
    with atomic_write(path) as temporary:
        text = json.dumps(dataclasses.asdict(report), indent=2, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def _check_equal_lengths(path: str, count: int, other: str, expected: int) -> None:
    if expected == 0:
        raise UserError(f"{other}: the file is empty")
    if count != expected:
        raise UserError(
            f"files of different lengths: {path} has {count} lines, "
            f"{other} has {expected}"
        )


def _check_equal_texts(
    path: str, records: Sequence[Translation], other: str, expected: Sequence[str]
) -> None:
    """Compares the words: a line end in a text is a blank in the output file."""
    pairs = zip(records, expected, strict=True)
    for number, (record, line) in enumerate(pairs, start=1):
        if record.text.split() != line.split():
            raise UserError(f"{path}, line {number}: the text is not that of {other}")


def _read_records(path: str) -> Iterator[Translation]:
    """Yields text and counts of each line."""
    for number, line in enumerate(read_lines(path), start=1):
        try:
            record = json.loads(line)
            text, counts = record["text"], {name: record[name] for name in _COUNTS}
        except (KeyError, RecursionError, TypeError, ValueError):
            text, counts = None, {}
        values = counts.values()
        in_range = (type(n) is int and 0 <= n <= _LARGEST_COUNT for n in values)
        if type(text) is not str or not all(in_range):
            raise UserError(
                f"{path}, line {number}: no JSON object with text and the whole "
                f"numbers {', '.join(_COUNTS)}"
            )
        yield Translation(text, **counts)
