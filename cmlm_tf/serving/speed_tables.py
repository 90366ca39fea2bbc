"""The calibration of a model inside the graph: from a speed to a setting."""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.translate.speed_table import SpeedTable, place_of_tau

#: A speed in float32 may lie this much outside of a table's float64 ends.
_TOLERANCE = 1e-6


class Found(NamedTuple):
    """What a calibration says to the speeds of a batch.

    Attributes:
        settings: float32 `[batch]`; 1 where nothing was found.
        has_table: bool `[batch]`, True where a table is for the row's heuristic and
            length beam.
        is_inside: bool `[batch]`, True where that table has the speed, too.
    """

    settings: tf.Tensor
    has_table: tf.Tensor
    is_inside: tf.Tensor


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
) -> Found:
    """Finds the settings for speeds, as `SpeedTable.promise` does.

    Args:
        tables: of `servable`.
        targets: float32 `[batch]`, tokens per iteration.
        rules: int32 `[batch]`, numbers of heuristics in the order of `HEURISTICS`.
        length_beam: int32 `[batch]`.

    Returns:
        The settings, and where there are any.
    """
    targets = tf.cast(targets, tf.float64)
    settings = tf.ones_like(targets)
    has_table = is_inside = tf.zeros_like(rules, tf.bool)
    for table in tables:
        slowest, fastest = table.points[0].speedup, table.points[-1].speedup
        fits = (rules == list(HEURISTICS).index(table.heuristic)) & (
            length_beam == table.length_beam
        )
        has_table |= fits
        fits &= targets >= slowest * (1 - _TOLERANCE)
        fits &= targets <= fastest * (1 + _TOLERANCE)
        setting = _look_up(table, tf.where(fits, targets, slowest))
        settings, is_inside = tf.where(fits, setting, settings), is_inside | fits
    return Found(tf.cast(settings, tf.float32), has_table, is_inside)


def _look_up(table: SpeedTable, targets: tf.Tensor) -> tf.Tensor:
    """Returns the settings, float64 `[batch]`, of speeds inside a table."""
    speeds = tf.constant([point.speedup for point in table.points], tf.float64)
    settings = [float(point.setting) for point in table.points]
    if not table.is_interpolated or len(settings) == 1:
        distances = tf.abs(speeds - targets[:, tf.newaxis])
        nearest = tf.argmin(distances, axis=1)
        return tf.gather(tf.constant(settings, tf.float64), nearest)
    places = tf.constant([place_of_tau(tau) for tau in settings], tf.float64)
    right = tf.searchsorted(speeds, targets)
    right = tf.clip_by_value(right, 1, len(settings) - 1)
    slow, fast = tf.gather(speeds, right - 1), tf.gather(speeds, right)
    share = tf.clip_by_value((targets - slow) / (fast - slow), 0.0, 1.0)
    low, high = tf.gather(places, right - 1), tf.gather(places, right)
    return tf.exp(-tf.square(low + share * (high - low)))
