"""The calibration of a model inside the graph: from a speed to a setting."""

from collections.abc import Sequence

import tensorflow as tf

from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.translate.calibration import SpeedTable

#: A speed in float32 may lie this much outside of a table's float64 ends.
_TOLERANCE = 1e-6


def servable(tables: Sequence[SpeedTable]) -> list[SpeedTable]:
    """Returns the tables for the way in which a served model decodes."""
    return [
        table
        for table in tables
        if table.strategy == "update_masked_sub" and not table.drop_losing_candidates
    ]


def find_settings(
    tables: Sequence[SpeedTable],
    targets: tf.Tensor,
    rules: tf.Tensor,
    length_beam: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Finds the settings for speeds, as `SpeedTable.promise` does.

    Args:
        tables: of `servable`.
        targets: float32 `[batch]`, tokens per iteration.
        rules: int32 `[batch]`, numbers of heuristics in the order of `HEURISTICS`.
        length_beam: int32 `[batch]`.

    Returns:
        float32 `[batch]`, the settings, and bool `[batch]`, True where a table of the
        row's heuristic and length beam has its speed; the setting is 1 elsewhere.
    """
    targets = tf.cast(targets, tf.float64)
    settings, found = tf.ones_like(targets), tf.zeros_like(rules, tf.bool)
    for table in tables:
        slowest, fastest = table.span
        fits = (rules == list(HEURISTICS).index(table.heuristic)) & (
            length_beam == table.length_beam
        )
        fits &= targets >= slowest * (1 - _TOLERANCE)
        fits &= targets <= fastest * (1 + _TOLERANCE)
        setting = _look_up(table, tf.where(fits, targets, slowest))
        settings, found = tf.where(fits, setting, settings), found | fits
    return tf.cast(settings, tf.float32), found


def _look_up(table: SpeedTable, targets: tf.Tensor) -> tf.Tensor:
    """Returns the settings, float64 `[batch]`, of speeds inside a table."""
    points = table.curve()
    curve = tf.constant(points, tf.float64)
    right = tf.minimum(tf.searchsorted(curve[:, 0], targets), len(points) - 1)
    fast, slow = tf.gather(curve, right), tf.gather(curve, tf.maximum(right - 1, 0))
    share = tf.math.divide_no_nan(targets - slow[:, 0], fast[:, 0] - slow[:, 0])
    share = tf.clip_by_value(share, 0.0, 1.0)
    return slow[:, 1] + share * (fast[:, 1] - slow[:, 1])
