"""Quality against speed on one test set: table, JSON and plot (paper, section 4.2)."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from absl import logging

from cmlm_tf.evaluation.plots import plot_quality_speed
from cmlm_tf.evaluation.sweep import Sweep
from cmlm_tf.evaluation.table import QualitySpeedRow, format_table
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from cmlm_tf.translate.translator import Translator
from cmlm_tf.utils.json_files import write_json

#: The teacher's beam sizes; the last one is the plot's top border.
BEAMS = (1, 5)


def measure_trade_off(
    teacher: Translator,
    student: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    settings: Mapping[str, Sequence[float]],
) -> list[QualitySpeedRow]:
    """Decodes a test set by the teacher and by every heuristic of the student.

    Args:
        teacher: decodes at each size of `BEAMS`.
        student: decodes at each setting.
        sources: the test set's source side.
        references: one for each source.
        settings: each heuristic's settings, by its name.

    Returns:
        The teacher's rows, then the student's, in the order of `settings`.
    """
    beams = [BeamOptions(beam_size=size) for size in BEAMS]
    points = [
        UnmaskingOptions(heuristic, setting)
        for heuristic, values in settings.items()
        for setting in values
    ]
    rows = []
    for translator, options in ((teacher, beams), (student, points)):
        sweep = Sweep(translator, sources, references)
        for row in map(sweep.measure, options):
            logging.info("%s %s: BLEU %.2f", row.system, row.setting, row.bleu)
            rows.append(row)
    return rows


def write_trade_off(rows: Sequence[QualitySpeedRow], test: str, folder: Path) -> None:
    """Writes `table.json`, `table.md`, `table.png` and `table.svg`.

    Args:
        rows: as `measure_trade_off` returns them.
        test: what was decoded, for the JSON file.
        folder: exists.
    """
    records = [dataclasses.asdict(row) for row in rows]
    write_json(folder / "table.json", {"test": test, "rows": records})
    (folder / "table.md").write_text(format_table(rows) + "\n", encoding="utf-8")
    plot_quality_speed(
        [row for row in rows if row.system != "teacher"],
        rows[len(BEAMS) - 1].bleu,
        [folder / "table.png", folder / "table.svg"],
    )
