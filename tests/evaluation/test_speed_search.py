"""Few measurements find the settings of all targets, on curves written here."""

import bisect
import dataclasses
import math
import random

import pytest
from cmlm_tf.evaluation.speed_search import (
    TOLERANCE,
    find_settings,
    out_of_reach,
    reachable,
)
from cmlm_tf.translate.speed_table import SpeedTable

from cmlm_tf.errors import UserError

TARGETS = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]

#: Speed at tau, each falling in tau from about 1 to over 12.
CURVES = {
    "straight": lambda tau: 0.9 + 1.1 * -math.log(tau),
    "root": lambda tau: 0.9 + 3.0 * math.sqrt(-math.log(tau)),
    "saturating": lambda tau: 0.9 + 11.5 * (1 - math.exp(0.12 * math.log(tau))),
    "convex": lambda tau: 0.9 + (-math.log(tau)) ** 1.4,
}


class Measure:
    """A curve that counts how often it was asked."""

    def __init__(self, curve):
        self.curve, self.settings = curve, []

    def __call__(self, setting):
        self.settings.append(setting)
        return self.curve(setting)


def _table(heuristic, points):
    return SpeedTable(heuristic, "update_masked_sub", 5, False, points, 1000, "")


@pytest.mark.parametrize("name", CURVES)
def test_promises_are_kept_after_few_measurements(name):
    measure = Measure(CURVES[name])
    table = _table("comb_thresh", find_settings(measure, "comb_thresh", TARGETS))
    errors = [abs(measure.curve(table.promise(t).setting) - t) for t in TARGETS]
    assert max(errors) <= 0.25 and sum(errors) / len(errors) <= 0.1
    assert len(measure.settings) <= 12
    assert len(set(measure.settings)) == len(measure.settings)


def test_one_measurement_that_hits_the_only_target_is_enough():
    points = find_settings(Measure(lambda k: float(k)), "fixed_k", [3.0])
    assert _table("fixed_k", points).promise(3.0).speedup == 3.0


def test_all_points_were_measured():
    measure = Measure(CURVES["root"])
    points = find_settings(measure, "thresh", [4.0])
    assert {p.setting for p in points} == set(measure.settings)
    assert all(p.speedup == measure.curve(p.setting) for p in points)


@pytest.mark.parametrize(
    ("heuristic", "curve"),
    [
        ("fixed_k", lambda k: 28 / math.ceil(30 / k)),
        ("mask_predict", lambda t: 28 / math.ceil(30 / math.ceil(30 / t))),
    ],
)
def test_whole_numbers_next_to_a_target_are_all_tried(heuristic, curve):
    """No other whole number comes nearer to a target than the promised one."""
    measure = Measure(curve)
    table = _table(heuristic, find_settings(measure, heuristic, TARGETS))
    for target in TARGETS:
        best = min(abs(curve(n) - target) for n in range(1, 100))
        promise = table.promise(target)
        assert curve(promise.setting) == promise.speedup
        assert abs(promise.speedup - target) <= max(best, 0.1)


@pytest.mark.parametrize(
    ("heuristic", "target", "message"),
    [
        (
            "comb_thresh",
            0.5,
            "the slowest of comb_thresh on this text is 0.90 tokens per iteration",
        ),
        (
            "comb_thresh",
            30.0,
            "the fastest of comb_thresh on this text is 9.00 tokens per iteration",
        ),
        (
            "fixed_k",
            0.5,
            "the slowest of fixed_k on this text is 0.90 tokens per iteration",
        ),
        (
            "fixed_k",
            30.0,
            "the fastest of fixed_k on this text is 9.00 tokens per iteration",
        ),
        (
            "mask_predict",
            0.5,
            "the slowest of mask_predict on this text is 0.90 tokens per iteration",
        ),
        (
            "mask_predict",
            30.0,
            "the fastest of mask_predict on this text is 9.00 tokens per iteration",
        ),
    ],
)
def test_an_impossible_speed_is_named_and_the_others_found(heuristic, target, message):
    speeds = {
        "comb_thresh": lambda tau: min(0.9 - 2 * math.log(tau), 9.0),
        "fixed_k": lambda k: min(0.9 * k, 9.0),
        "mask_predict": lambda t: max(9.0 / t, 0.9),
    }
    with pytest.raises(UserError, match=f"^target_speedup {target:g}: {message}$"):
        find_settings(speeds[heuristic], heuristic, [target])
    points = find_settings(speeds[heuristic], heuristic, [2.0, 3.0, target])
    line = f"target_speedup {target:g}: {message}"
    assert out_of_reach(points, heuristic, [2.0, 3.0, target]) == line
    assert reachable(points, [2.0, 3.0, target]) == [2.0, 3.0]
    table = _table(heuristic, points)
    for wanted in (2.0, 3.0):
        speed = speeds[heuristic](table.promise(wanted).setting)
        assert abs(speed - wanted) <= (0.8 if heuristic != "comb_thresh" else 0.1)


def test_speeds_on_both_sides_are_out_of_reach():
    points = find_settings(lambda k: min(0.9 * k, 9.0), "fixed_k", [0.5, 2.0, 30.0])
    line = out_of_reach(points, "fixed_k", [0.5, 2.0, 30.0])
    assert line.startswith("target_speedup 0.5: the slowest of ") and line.endswith(
        "; target_speedup 30: the fastest of fixed_k on this text is 9.00 tokens per "
        "iteration"
    )


@pytest.mark.parametrize("heuristic", ["fixed_k", "mask_predict"])
def test_no_whole_number_above_a_thousand_is_tried(heuristic):
    sign = 1 if heuristic == "fixed_k" else -1
    measure = Measure(lambda number: 2 + sign * 1e-6 * number)
    with pytest.raises(UserError, match="^target_speedup 0.5: the slowest of"):
        find_settings(measure, heuristic, [0.5, 5.0])
    assert max(measure.settings) == 1000 and min(measure.settings) == 1


@pytest.mark.parametrize("seed", range(20))
def test_where_speed_jumps_promises_are_measured_speeds(seed):
    """No speed is nearer to a target than the promised one, but within its tau."""
    rng = random.Random(seed)
    jumps = sorted(rng.uniform(0.05, 6.0) for _ in range(rng.randint(1, 6)))
    speeds = sorted(rng.uniform(0.5, 2.0) for _ in jumps) + [12.0]
    slope = rng.choice([0.0, 1.0])

    def curve(tau):
        place = math.sqrt(-math.log(tau))
        return speeds[bisect.bisect(jumps, place)] + slope * place

    measure = Measure(curve)
    points = find_settings(measure, "comb_thresh", TARGETS, jumps=True)
    table = dataclasses.replace(_table("comb_thresh", points), num_lines=1)
    for target in reachable(points, TARGETS):
        promise = table.promise(target)
        assert curve(promise.setting) == promise.speedup
        others = (curve(math.exp(-((i / 100) ** 2))) for i in range(831))
        nearest = min(abs(speed - target) for speed in others)
        assert abs(promise.speedup - target) <= max(nearest, TOLERANCE) + 0.03


def test_a_curve_with_steps_ends():
    """Equal speeds at neighbouring settings are no obstacle."""
    points = find_settings(
        lambda tau: max(round(0.9 - 2 * math.log(tau)), 1), "thresh", [2.5, 4.5]
    )
    speeds = [point.speedup for point in points]
    assert speeds == sorted(set(speeds))
    assert speeds[0] <= 2.5 and speeds[-1] >= 4.5
