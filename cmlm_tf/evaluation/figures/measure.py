"""What the figures on decoding measure: from a workbench to rows of numbers.

Points are shared: a figure measures only what no earlier one has.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from absl import logging

from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.evaluation.figures.split import Split
from cmlm_tf.evaluation.figures.workbench import Workbench
from cmlm_tf.evaluation.sweep import describe
from cmlm_tf.translate.calibration import Point, SpeedTable, rising_points
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions

#: Settings of each heuristic, from slow to fast; at b = 5 about 1 to 11 tokens per
#: iteration for a trained student.
SETTINGS: dict[str, tuple[float, ...]] = {
    "mask_predict": (20, 15, 10, 8, 6, 5, 4, 3, 2, 1),
    "fixed_k": (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15),
    "thresh": (0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.45, 0.3, 0.2, 0.1),
    "comb_thresh": (0.95, 0.7, 0.45, 0.3, 0.15, 0.06, 0.02, 0.006, 1.5e-3, 3e-4, 3e-5)
    + (1e-6,),
    "fcomb_thresh": (0.95, 0.7, 0.45, 0.3, 0.15, 0.06, 0.02, 0.006, 1e-3, 1e-5),
}
STRATEGY_ITERATIONS = 10
MOST_BEAMS = 10
#: Of the figures that compare at equal speed, in tokens per iteration.
PASSES_SPEEDS = (3.5, 5.0)
LENGTHS_SPEED = 5.0
BIN_WIDTH = 5
PROMISES = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
PASSES_SYSTEMS = ("mask_predict", "fixed_k", "comb_thresh")
LENGTHS_SYSTEMS = ("mask_predict", "fixed_k", "thresh", "comb_thresh")
DEV_TEST_SYSTEMS = ("comb_thresh", "fixed_k")
TEMPERATURE_SYSTEMS = ("comb_thresh", "fcomb_thresh")
Rows = list[dict[str, Any]]
Result = dict[str, Any]
QUALITY = ("bleu", "bleu_ci", "chrf", "slowest", "selected", "summed", "resampled")


def tradeoff(bench: Workbench) -> Result:
    """BLEU against speed for the five heuristics, and the teacher (section 4.2)."""
    teacher: list[Any] = [BeamOptions(beam_size=5), BeamOptions(beam_size=1)]
    student = [
        options_of(bench, heuristic, setting)
        for heuristic, settings in SETTINGS.items()
        for setting in settings
    ]
    bench.expect(len(teacher + student))
    rows = []
    for options in teacher + student:
        system, setting = describe(options)
        point = bench.quality(options, bench.test)
        rows.append({"system": system, "setting": setting, **take(point, QUALITY)})
    return {"length_beam": bench.length_beam, "rows": rows}


def strategies(bench: Workbench) -> Result:
    """BLEU of the update strategies against the length beam (figure 2)."""
    most = min(MOST_BEAMS, bench.longest)
    bench.expect(len(STRATEGIES))
    rows = []
    for strategy in STRATEGIES:
        options = UnmaskingOptions(
            "mask_predict",
            STRATEGY_ITERATIONS,
            strategy,
            max_iterations=STRATEGY_ITERATIONS,
        )
        beams = bench.beams(options, bench.test, most)["beams"]
        for number, point in enumerate(beams, start=1):
            row = {"system": strategy, "length_beam": number}
            rows.append(row | take(point, QUALITY))
    return {"rows": rows, "iterations": STRATEGY_ITERATIONS}


def lengths(bench: Workbench) -> Result:
    """Passes against the reference's length, at equal speed (section 4.3)."""
    rows, speeds = [], {}
    left_out = _LeftOut("lengths")
    for heuristic in LENGTHS_SYSTEMS:

        def speed(setting: float, heuristic: str = heuristic) -> float:
            options = UnmaskingOptions(heuristic, setting, length_beam=1)
            return bench.iterations(options, bench.test)["speed"]

        points, reached = left_out.find(speed, heuristic, [LENGTHS_SPEED], bench.test)
        if not reached:
            continue
        nearest = min(points, key=lambda p: abs(p.speedup - LENGTHS_SPEED))
        options = UnmaskingOptions(heuristic, nearest.setting, length_beam=1)
        point = bench.iterations(options, bench.test)
        system, setting = describe(options)
        speeds[system] = {"setting": setting, "speed": point["speed"]}
        for row in by_length(point["lengths"]):
            rows.append({"system": system, "setting": setting, **row})
    return {"rows": rows, "speeds": speeds, **left_out.field}


def by_length(table: dict[str, Sequence[int]]) -> Rows:
    """Gathers lengths into bins: mean and standard deviation of the passes.

    >>> by_length({"3": [2, 4, 10], "4": [2, 4, 10]})
    [{'first_length': 1, 'count': 4, 'mean': 2.0, 'std': 1.0}]

    Args:
        table: for each length the number of sentences and the sums of their passes
            and of their squares.
    """
    bins: dict[int, list[int]] = {}
    for length, sums in table.items():
        first = (int(length) - 1) // BIN_WIDTH * BIN_WIDTH + 1
        bins[first] = [
            a + b for a, b in zip(bins.get(first, [0] * 3), sums, strict=True)
        ]
    rows = []
    for first, (count, total, squares) in sorted(bins.items()):
        mean = total / count
        std = max(squares / count - mean**2, 0.0) ** 0.5
        rows.append({"first_length": first, "count": count, "mean": mean, "std": std})
    return rows


def passes(bench: Workbench) -> Result:
    """BLEU after each pass, at two speeds (section 4.3).

    `bleu_ci` is that at the end, at the nearest speed of the trade-off.
    """
    bench.expect(sum(len(SETTINGS[h]) + len(PASSES_SPEEDS) for h in PASSES_SYSTEMS))
    rows: Rows = []
    left_out = _LeftOut("passes")
    for heuristic in PASSES_SYSTEMS:
        measured = {
            setting: bench.quality(options_of(bench, heuristic, setting), bench.test)
            for setting in SETTINGS[heuristic]
        }
        table = _speed_table(bench, heuristic, measured)
        for target in PASSES_SPEEDS:
            if not left_out.reached(table.points, [target], bench.test):
                continue
            options = options_of(bench, heuristic, table.promise(target).setting)
            point = bench.passes(options, bench.test)
            speed = point["slowest"]
            nearest = min(measured.values(), key=lambda p: abs(p["slowest"] - speed))
            system, setting = describe(options)
            row = {"system": system, "setting": setting, "target": target}
            row |= {"speed": speed, "bleu_ci": nearest["bleu_ci"]}
            lists = take(point, ("bleu", "resampled"))
            for number, values in enumerate(zip(*lists.values(), strict=True), start=1):
                numbered = zip(lists, values, strict=True)
                rows.append(row | {"iteration": number, **dict(numbered)})
    return {"length_beam": bench.length_beam, "rows": rows, **left_out.field}


def dev_test(bench: Workbench) -> Result:
    """Speed on dev against speed on test for the same settings (section 4.2)."""
    bench.expect(sum(2 * len(SETTINGS[heuristic]) for heuristic in DEV_TEST_SYSTEMS))
    rows: Rows = []
    errors = {}
    for heuristic in DEV_TEST_SYSTEMS:
        for setting in SETTINGS[heuristic]:
            options = options_of(bench, heuristic, setting)
            dev, test = (
                bench.quality(options, split)["slowest"]
                for split in (bench.dev, bench.test)
            )
            system, text = describe(options)
            row = {"system": system, "setting": text, "dev": dev, "test": test}
            rows.append(row | {"error": abs(dev - test)})
        errors[heuristic] = _error(rows, heuristic)
    return {"length_beam": bench.length_beam, "rows": rows, "errors": errors}


def promises(bench: Workbench) -> Result:
    """Promised speed and what it is on test (see cmlm_tf.translate.calibration)."""
    rows: Rows = []
    counts, errors = {}, {}
    left_out = _LeftOut("promises")
    for heuristic in DEV_TEST_SYSTEMS:
        tried: set[float] = set()

        def speed(setting: float, heuristic: str = heuristic, tried: set = tried):
            tried.add(setting)
            options = options_of(bench, heuristic, setting)
            return bench.quality(options, bench.dev)["slowest"]

        points, reached = left_out.find(speed, heuristic, PROMISES, bench.dev)
        counts[heuristic] = len(tried)
        if not reached:
            continue
        table = _table(bench, heuristic, points)
        for target in reached:
            promise = table.promise(target)
            options = options_of(bench, heuristic, promise.setting)
            measured = bench.quality(options, bench.test)["slowest"]
            system, setting = describe(options)
            row = {"system": system, "target": target, "setting": setting}
            row |= {"promised": promise.speedup, "measured": measured}
            rows.append(row | {"error": abs(promise.speedup - measured)})
        errors[heuristic] = _error(rows, heuristic)
    found = {"rows": rows, "errors": errors, "dev_decodings": counts}
    return {"length_beam": bench.length_beam, **found, **left_out.field}


def options_of(bench: Workbench, heuristic: str, setting: float) -> UnmaskingOptions:
    """Returns the usual way of decoding at a setting."""
    return UnmaskingOptions(heuristic, setting, length_beam=bench.length_beam)


def take(point: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Returns some fields of a point, those that it has."""
    return {name: point[name] for name in names if name in point}


class _LeftOut:
    """Speeds that a text does not allow: a figure does without them, and says so."""

    def __init__(self, figure: str):
        self._figure = figure
        self._reasons: list[str] = []

    @property
    def field(self) -> dict[str, list[str]]:
        """What the figure's result says of them: `left_out`, or nothing."""
        return {"left_out": self._reasons} if self._reasons else {}

    def reached(
        self, points: Sequence[Point], targets: Sequence[float], split: Split
    ) -> list[float]:
        """Returns the targets among the points' speeds, and notes the others."""
        low, high = points[0].speedup, points[-1].speedup
        if missed := [f"{t:g}" for t in targets if not low <= t <= high]:
            reason = f"{split.name}: target_speedup {', '.join(missed)}: out of reach"
            self._reasons.append(f"{reason}, {low:.2f} to {high:.2f}")
            logging.warning("%s: %s; left out", self._figure, self._reasons[-1])
        return [target for target in targets if low <= target <= high]

    def find(
        self,
        speed: Callable[[float], float],
        heuristic: str,
        targets: Sequence[float],
        split: Split,
    ) -> tuple[Sequence[Point], list[float]]:
        """Returns the points of the settings, and the targets that are reached."""
        speeds = {setting: speed(setting) for setting in SETTINGS[heuristic]}
        points = rising_points(heuristic, speeds)
        return points, self.reached(points, targets, split)


def _error(rows: Rows, system: str) -> dict[str, float]:
    """Returns mean and largest error of a system's rows."""
    found = [row["error"] for row in rows if row["system"] == system]
    return {"mean": sum(found) / len(found), "largest": max(found)}


def _speed_table(
    bench: Workbench, heuristic: str, measured: Mapping[float, Result]
) -> SpeedTable:
    """Makes a table of settings and their points that has no slower ones."""
    speeds = {setting: quality["slowest"] for setting, quality in measured.items()}
    return _table(bench, heuristic, rising_points(heuristic, speeds))


def _table(bench: Workbench, heuristic: str, points: Sequence[Point]) -> SpeedTable:
    strategy = UnmaskingOptions.strategy
    return SpeedTable(
        heuristic, strategy, bench.length_beam, False, tuple(points), 0, ""
    )
