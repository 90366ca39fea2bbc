"""Calibrates a student's speed on one text and checks the promises on another.

Kreutzer et al. (2020), section 4.2. The development set is decoded at each setting of
the heuristic's grid; `cmlm_tf.translate.calibration` interpolates between them.
"""

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from absl import logging

from cmlm_tf.data.text_files import read_lines, require_text
from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.errors import UserError, span_inside
from cmlm_tf.evaluation.speed import tokens_per_iteration
from cmlm_tf.modeling.model_dir import read_description
from cmlm_tf.translate.calibration import (
    CALIBRATION_FILE,
    FEW_LINES,
    KEY_FIELDS,
    Point,
    SpeedTable,
    check_replacement,
    rising_points,
    save_table,
)
from cmlm_tf.translate.options import UnmaskingOptions
from cmlm_tf.translate.translator import Translator
from cmlm_tf.utils.files import remove_leftovers
from cmlm_tf.utils.json_files import json_hash, read_json, write_json
from cmlm_tf.utils.progress import Progress


@dataclasses.dataclass(frozen=True)
class CalibrationReport:
    """What `calibrate` stored, and how; speeds are in tokens per iteration.

    Attributes:
        table: what was measured.
        num_decodings: how often the development set was decoded.
        targets: the speeds that were asked for.
        found: each setting's speed on the text of the check, if there was one.
    """

    table: SpeedTable
    num_decodings: int
    targets: tuple[float, ...]
    found: Mapping[float, float] = dataclasses.field(default_factory=dict)

    def promises(self) -> list[tuple[float, Point]]:
        """Returns the targets that can be reached, and what is promised for them."""
        low, high = self.table.span
        reached = [target for target in self.targets if low <= target <= high]
        return [(target, self.table.promise(target)) for target in reached]

    def out_of_reach(self) -> str:
        """Names the other targets and the limits; empty without any."""
        low, high = self.table.span
        missed = [f"{t:g}" for t in self.targets if not low <= t <= high]
        if not missed:
            return ""
        return (
            f"target_speedup {', '.join(missed)}: on this text "
            f"{self.table.heuristic} gives speeds {span_inside(low, high)}"
        )

    def __str__(self) -> str:
        """Returns a Markdown table and lines on the errors and the work."""
        lines = [
            f"| target | {self.table.heuristic} | promised | measured |",
            "|-------:|-------:|-------:|-------:|",
        ]
        errors = []
        for target, (promised, setting) in self.promises():
            measured = self.found.get(setting)
            if measured is not None:
                errors.append(abs(measured - promised))
            shown = "-" if measured is None else f"{measured:.2f}"
            lines.append(f"| {target:g} | {setting:.4g} | {promised:.2f} | {shown} |")
        if errors:
            lines.append(
                "difference in tokens per iteration: "
                f"{sum(errors) / len(errors):.2f} on average, {max(errors):.2f} at most"
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
    """Measures speeds and stores their settings in the model directory.

    If it is interrupted, the next call with the same text and options decodes nothing
    that was decoded before.

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
        UserError: a file is missing or damaged or cannot be written, or there is a
            table from more lines; nothing is decoded then.
    """
    lines, test_lines = _read(dev), _read(test) if test is not None else None
    key = {name: getattr(options, name) for name in KEY_FIELDS}
    check_replacement(model_dir, key, None if replace else len(lines))
    if len(lines) < FEW_LINES:
        logging.warning("%d lines are few: other text will differ", len(lines))
    measured = _Measured(translator, model_dir, options)
    grid = HEURISTICS[options.heuristic].grid
    points = rising_points(options.heuristic, measured.speeds(lines, grid))
    digest = _text_hash(lines)
    table = SpeedTable(**key, points=points, num_lines=len(lines), text_sha256=digest)
    save_table(model_dir, table)
    logging.info("stored in %s", os.path.join(model_dir, CALIBRATION_FILE))
    report = CalibrationReport(table, measured.num_decodings, tuple(targets))
    if test_lines is not None:
        settings = [point.setting for _, point in report.promises()]
        found = measured.speeds(test_lines, settings)
        report = dataclasses.replace(report, found=found)
    measured.forget()
    return report


class _Measured:
    """Measures speeds; a file in the model directory keeps each until `forget`.

    Attributes:
        num_decodings: how often a text was decoded.
    """

    def __init__(
        self,
        translator: Translator,
        model_dir: str | os.PathLike[str],
        options: UnmaskingOptions,
    ):
        self._translator, self._options = translator, options
        self._weights = read_description(model_dir)["weights_sha256"]
        self.num_decodings = 0
        # Other ways of decoding may be calibrated at the same time.
        way = json_hash([getattr(options, name) for name in KEY_FIELDS])[:8]
        self._path = Path(model_dir) / f"calibration.unfinished.{way}.json"
        remove_leftovers(self._path)
        kept = read_json(self._path) if self._path.exists() else {}
        self._kept = kept if isinstance(kept, dict) else {}

    def speeds(
        self, lines: Sequence[str], settings: Sequence[float]
    ) -> dict[float, float]:
        """Returns the speed of each setting, and shows what is left to decode."""
        text = _text_hash(lines)
        ways = {
            s: dataclasses.replace(self._options, setting=float(s)) for s in settings
        }
        keys = {
            setting: json_hash([self._weights, dataclasses.asdict(way), text])
            for setting, way in ways.items()
        }
        missing = [s for s in keys if not isinstance(self._kept.get(keys[s]), float)]
        done = len(keys) - len(missing)
        counter = Progress(len(keys), "decodings", self._options.heuristic, done)
        with contextlib.closing(counter):
            for setting in missing:
                self._kept[keys[setting]] = self._decode(lines, ways[setting])
                write_json(self._path, self._kept)
                counter.advance()
        return {setting: self._kept[key] for setting, key in keys.items()}

    def _decode(self, lines: Sequence[str], options: UnmaskingOptions) -> float:
        translations = self._translator.translate(lines, options, warn=False)
        self.num_decodings += 1
        speed = tokens_per_iteration(translations).slowest
        note = "%s %g gives %.3f tokens per iteration"
        logging.info(note, options.heuristic, options.setting, speed)
        return speed

    def forget(self) -> None:
        self._path.unlink(missing_ok=True)


def _text_hash(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _read(path: str | os.PathLike[str]) -> list[str]:
    require_text(os.fspath(path))
    lines = list(read_lines(os.fspath(path)))
    if not any(map(str.strip, lines)):
        raise UserError(f"{path}: all lines are blank")
    return lines
