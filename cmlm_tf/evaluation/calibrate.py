"""Calibrates a student's speed on one text and checks the promises on another."""

import dataclasses
import hashlib
import math
import os
from collections.abc import Sequence

from absl import logging

from cmlm_tf.data.text_files import read_lines, require_text
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.speed import speed_of
from cmlm_tf.evaluation.speed_search import find_settings, out_of_reach, reachable
from cmlm_tf.translate.calibration import (
    CALIBRATION_FILE,
    check_replacement,
    save_table,
)
from cmlm_tf.translate.options import UnmaskingOptions
from cmlm_tf.translate.speed_table import FEW_LINES, KEY_FIELDS, SpeedTable
from cmlm_tf.translate.translator import Translator


@dataclasses.dataclass(frozen=True)
class Promise:
    """A speed that was promised and what came of it, in tokens per iteration.

    Attributes:
        target: the speed that was asked for.
        setting: T, K or tau.
        promised: the speed by the calibration; of K and T, which are whole
            numbers, the nearest to the target that there is.
        measured: the speed on the text of the check, or None.
    """

    target: float
    setting: float
    promised: float
    measured: float | None = None

    @property
    def error(self) -> float:
        """How far the promise was off."""
        assert self.measured is not None
        return abs(self.measured - self.promised)


@dataclasses.dataclass(frozen=True)
class CalibrationReport:
    """What `calibrate` found, and how.

    Attributes:
        heuristic: whose settings these are.
        num_decodings: how often the development set was decoded.
        promises: one for each target that can be reached.
        out_of_reach: names the other targets and the limit; empty without any.
    """

    heuristic: str
    num_decodings: int
    promises: tuple[Promise, ...]
    out_of_reach: str = ""

    def __str__(self) -> str:
        """Returns a Markdown table and lines on the errors and the work."""
        lines = [
            f"| target | {self.heuristic} | promised | measured |",
            "|-------:|-------:|-------:|-------:|",
        ]
        for p in self.promises:
            measured = "-" if p.measured is None else f"{p.measured:.2f}"
            cells = f"{p.target:g} | {p.setting:.4g} | {p.promised:.2f} | {measured}"
            lines.append(f"| {cells} |")
        errors = [p.error for p in self.promises if p.measured is not None]
        if errors:
            mean = sum(errors) / len(errors)
            lines.append(
                f"difference in tokens per iteration: {mean:.2f} on average, "
                f"{max(errors):.2f} at most"
            )
        lines.append(f"decodings of the development set: {self.num_decodings}")
        return "\n".join(lines)


def calibrate(
    translator: Translator,
    model_dir: str | os.PathLike[str],
    dev: str | os.PathLike[str],
    options: UnmaskingOptions,
    targets: Sequence[float],
    test: str | os.PathLike[str] | None = None,
    replace: bool = False,
) -> CalibrationReport:
    """Finds the settings of target speeds and stores them in the model directory.

    Args:
        translator: of the student in `model_dir`.
        model_dir: gets a table in its `calibration.json`.
        dev: file of source lines to measure on.
        options: how to decode; the setting is what is looked for.
        targets: tokens per iteration.
        test: file of other source lines, decoded once for each target to check
            what the table promises; None for no check.
        replace: whether the table may take the place of one from more lines.

    Raises:
        UserError: no target can be reached, a file is missing or damaged or cannot
            be written, or there is a table from more lines; nothing is stored then.
    """
    lines, test_lines = _read(dev), _read(test) if test is not None else None
    key = {name: getattr(options, name) for name in KEY_FIELDS}
    # Fails before the work, not after it.
    check_replacement(model_dir, key, None if replace else len(lines))
    if are_few := len(lines) < FEW_LINES:
        logging.warning("%d lines are few: other text will differ", len(lines))
    count = 0

    def measure(setting: float) -> float:
        nonlocal count
        count += 1
        speed = _measure(translator, lines, options, setting)
        note = "decoding %d: %s %g gives %.3f tokens per iteration"
        logging.info(note, count, options.heuristic, setting, speed)
        return speed

    points = find_settings(measure, options.heuristic, targets, jumps=are_few)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    table = SpeedTable(**key, points=points, num_lines=len(lines), text_sha256=digest)
    save_table(model_dir, table)
    logging.info("stored in %s", os.path.join(model_dir, CALIBRATION_FILE))
    promises = [_promise(table, target) for target in reachable(points, targets)]
    if test_lines is not None:
        promises = [
            dataclasses.replace(
                p, measured=_measure(translator, test_lines, options, p.setting)
            )
            for p in promises
        ]
    missed = out_of_reach(points, options.heuristic, targets)
    return CalibrationReport(options.heuristic, count, tuple(promises), missed)


def _promise(table: SpeedTable, target: float) -> Promise:
    point = table.promise(target)
    return Promise(target, point.setting, point.speedup)


def _read(path: str | os.PathLike[str]) -> list[str]:
    require_text(os.fspath(path))
    lines = list(read_lines(os.fspath(path)))
    if not any(map(str.strip, lines)):
        raise UserError(f"{path}: all lines are blank")
    return lines


def _measure(
    translator: Translator,
    lines: Sequence[str],
    options: UnmaskingOptions,
    setting: float,
) -> float:
    options = dataclasses.replace(options, setting=setting)
    return speed_of(translator.translate(lines, options, warn=False)).slowest


def parse_targets(texts: Sequence[str]) -> list[float]:
    """Reads target speeds.

    >>> parse_targets(["2", "3.5"])
    [2.0, 3.5]

    Args:
        texts: the numbers as text.

    Raises:
        UserError: there is none, or one is no number above 0.
    """
    try:
        targets = [float(text) for text in texts]
    except ValueError as error:
        raise UserError(f"target_speedup: {error}") from error
    if not targets or not all(0 < target < math.inf for target in targets):
        raise UserError("target_speedup: must be numbers above 0")
    return targets
