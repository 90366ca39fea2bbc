"""What each figure measures: from a workbench to a dict with `rows` of numbers.

Points are shared: a figure measures only what no earlier one has.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd
from absl import logging

from benchmarks.paper_figures.points import Text, Workbench
from cmlm_tf.decoding.heuristics import HEURISTICS, Thresh
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.evaluation.sweep import describe
from cmlm_tf.translate.calibration import SpeedTable, rising_points
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions

STRATEGY_ITERATIONS = 10
MOST_BEAMS = 10
#: Of the figures that compare at equal speed, in tokens per iteration.
PASSES_SPEEDS = (3.5, 5.0)
LENGTHS_SPEED = 5.0
BIN_WIDTH = 5
PROMISES = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
#: Of the settings of the trade-off, every so many are tried at another temperature.
TEMPERATURE_STEP = 2
Result = dict[str, Any]


def tradeoff(bench: Workbench) -> Result:
    """BLEU against speed for the five heuristics, and the teacher (section 4.2)."""
    ways: list[Any] = [BeamOptions(beam_size=5), BeamOptions(beam_size=1)]
    ways += [
        bench.options(name, setting)
        for name, rule in HEURISTICS.items()
        for setting in rule.grid
    ]
    rows = [_named(way) | bench.quality(way, bench.test) for way in ways]
    return {"length_beam": bench.length_beam, "rows": rows}


def strategies(bench: Workbench) -> Result:
    """BLEU of the update strategies against the length beam (figure 2)."""
    rows = []
    for strategy in STRATEGIES:
        options = UnmaskingOptions(
            "mask_predict",
            STRATEGY_ITERATIONS,
            strategy,
            max_iterations=STRATEGY_ITERATIONS,
        )
        beams = bench.beams(options, min(MOST_BEAMS, bench.longest))
        for number, point in enumerate(beams, start=1):
            rows.append({"system": strategy, "length_beam": number} | point)
    return {"rows": rows, "iterations": STRATEGY_ITERATIONS}


def passes(bench: Workbench) -> Result:
    """BLEU after each pass, at two speeds (section 4.3)."""
    rows = []
    for heuristic in ("mask_predict", "fixed_k", "comb_thresh"):
        speeds = _speeds(bench, heuristic, bench.test)
        table = _table(bench, heuristic, speeds, len(bench.test.sources))
        for target in _reached(table, PASSES_SPEEDS, "passes, test"):
            options = bench.options(heuristic, table.promise(target).setting)
            point = bench.passes(options)
            row = _named(options) | {"target": target, "speed": point["slowest"]}
            both = zip(point["bleu"], point["resampled"], strict=True)
            for number, (bleu, resampled) in enumerate(both, start=1):
                here = {"iteration": number, "bleu": bleu, "resampled": resampled}
                rows.append(row | here)
    return {"length_beam": bench.length_beam, "rows": rows}


def lengths(bench: Workbench) -> Result:
    """Passes against the reference's length, at equal speed (section 4.3)."""
    rows: list[Result] = []
    speeds = {}
    for heuristic in ("mask_predict", "fixed_k", "thresh", "comb_thresh"):

        def measure(setting: float, heuristic: str = heuristic) -> Result:
            return bench.iterations(UnmaskingOptions(heuristic, setting, length_beam=1))

        def speed(setting: float, measure=measure) -> float:
            return measure(setting)["speed"]

        if heuristic.endswith("thresh"):
            tried = taus_around(speed, LENGTHS_SPEED)
        else:
            tried = {setting: speed(setting) for setting in HEURISTICS[heuristic].grid}
        table = _table(bench, heuristic, tried, num_lines=1)  # What was measured alone.
        for target in _reached(table, [LENGTHS_SPEED], "lengths, test"):
            setting = table.promise(target).setting
            name = _named(UnmaskingOptions(heuristic, setting))
            speeds[heuristic] = {"setting": name["setting"], "speed": tried[setting]}
            rows += [name | row for row in by_length(measure(setting)["rows"])]
    return {"rows": rows, "speeds": speeds}


def taus_around(
    speed: Callable[[float], float], target: float, near: float = 0.2
) -> dict[float, float]:
    """Returns the speeds of taus that were measured until one came near a target.

    Speed is nearly linear in the root of -log tau. The first two guesses are those of
    a trained student; from them it goes outward until the target lies between, and is
    interpolated then. Slow ones come first.
    """
    tried: dict[float, float] = {}

    def measure(place: float) -> float | None:
        """Returns the speed at a place, 0 the slowest; None if it was tried before."""
        tau = float(f"{max(Thresh.setting_at(max(place, 0.0)), 1e-30):.4g}")
        if tau in tried:
            return None
        tried[tau] = speed(tau)
        return tried[tau]

    for aim in (0.95 * target, 1.05 * target):
        measure((aim + 1.2) / 3.2)
    step, is_new = 1 / 3.2, True
    while is_new and not min(tried.values()) <= target <= max(tried.values()):
        too_fast = min(tried.values()) > target
        aim, end = (0.95, max(tried)) if too_fast else (1.05, min(tried))
        found = measure(Thresh.place(end) + step * (aim * target - tried[end]))
        step, is_new = 2 * step, found is not None
    while is_new and all(abs(found - target) > near / 4 for found in tried.values()):
        slow = min(tau for tau, found in tried.items() if found < target)
        fast = max(tau for tau, found in tried.items() if found > target)
        start, end = Thresh.place(slow), Thresh.place(fast)
        share = (target - tried[slow]) / (tried[fast] - tried[slow])
        found = measure(start + share * (end - start))
        is_new = found is not None and abs(found - target) > near
    return dict(sorted(tried.items(), reverse=True))


def by_length(rows: Iterable[Sequence[int]]) -> list[Result]:
    """Gathers lengths into bins: mean and standard deviation of the passes.

    >>> first, second = by_length([(3, 1), (5, 3), (6, 7)])
    >>> first
    {'first_length': 1, 'count': 2, 'mean': 2.0, 'std': 1.0}
    >>> second
    {'first_length': 6, 'count': 1, 'mean': 7.0, 'std': 0.0}

    Args:
        rows: length and passes of each sentence.
    """
    frame = pd.DataFrame(rows, columns=["first_length", "passes"])
    frame.first_length = (frame.first_length - 1) // BIN_WIDTH * BIN_WIDTH + 1
    bins = frame.groupby("first_length").passes
    table = bins.agg(count="count", mean="mean", std=lambda values: values.std(ddof=0))
    return table.reset_index().to_dict("records")


def dev_test(bench: Workbench) -> Result:
    """Speed on dev against speed on test for the same settings (section 4.2)."""
    rows = []
    for heuristic in ("comb_thresh", "fixed_k"):
        dev, test = (_speeds(bench, heuristic, t) for t in (bench.dev, bench.test))
        for setting in HEURISTICS[heuristic].grid:
            row = {"dev": dev[setting], "test": test[setting]}
            row["error"] = abs(row["dev"] - row["test"])
            rows.append(_named(bench.options(heuristic, setting)) | row)
    return {"length_beam": bench.length_beam, "rows": rows, "errors": errors_of(rows)}


def promises(bench: Workbench) -> Result:
    """Speeds promised by a table from dev, and what they are on test."""
    rows = []
    for heuristic in ("comb_thresh", "fixed_k"):
        speeds = _speeds(bench, heuristic, bench.dev)
        table = _table(bench, heuristic, speeds, len(bench.dev.sources))
        for target in _reached(table, PROMISES, "promises, dev"):
            promise = table.promise(target)
            options = bench.options(heuristic, promise.setting)
            row = {"promised": promise.speedup}
            row["measured"] = bench.quality(options, bench.test)["slowest"]
            row["error"] = abs(row["promised"] - row["measured"])
            rows.append(_named(options) | {"target": target} | row)
    found = {"rows": rows, "errors": errors_of(rows)}
    return {"length_beam": bench.length_beam, **found}


def errors_of(rows: Sequence[Result]) -> dict[str, dict[str, float]]:
    """Returns mean and largest error of each system.

    >>> errors_of([{"system": "a", "error": 1.0}, {"system": "a", "error": 2.0}])
    {'a': {'mean': 1.5, 'largest': 2.0}}
    """
    frame = pd.DataFrame(rows, columns=["system", "error"])
    errors = frame.groupby("system", sort=False).error
    return errors.agg(mean="mean", largest="max").to_dict("index")


def length_classifier(bench: Workbench) -> Result:
    """Accuracy of predicted lengths against the references'."""
    shares = bench.length_classifier(min(MOST_BEAMS, bench.longest))
    return {"rows": [{"measure": k, "share": v} for k, v in shares.items()]}


def probabilities(bench: Workbench) -> Result:
    """Reliability before and after temperature scaling (section 4.2's guess)."""
    fitted = bench.reliability(bench.dev)["after"]["temperature"]
    test = bench.reliability(bench.test, fitted)
    if fitted == 1.0:  # What is after is what was before.
        del test["after"]
    rows = [
        {"temperature": summary["temperature"], "group": name} | group
        for summary in test.values()
        for name, group in summary["groups"].items()
    ]
    losses = {when: summary["loss"] for when, summary in test.items()}
    return {"rows": rows, "temperature": fitted, "loss": losses}


def temperature(bench: Workbench) -> Result:
    """comb-thresh and fcomb-thresh at the fitted temperature, and without it."""
    fitted = bench.reliability(bench.dev)["after"]["temperature"]
    test = bench.reliability(bench.test, fitted)
    ece = {when: test[when]["groups"]["all"]["ece"] for when in ("before", "after")}
    rows = []
    for heuristic in ("comb_thresh", "fcomb_thresh"):
        for value in dict.fromkeys((1.0, fitted)):
            for setting in HEURISTICS[heuristic].grid[::TEMPERATURE_STEP]:
                options = bench.options(heuristic, setting)
                row = _named(options) | {"temperature": value}
                rows.append(row | bench.quality(options, bench.test, value))
    found = {"rows": rows, "temperature": fitted, "ece": ece}
    return {"length_beam": bench.length_beam, **found}


def _reached(table: SpeedTable, targets: Sequence[float], what: str) -> list[float]:
    """Returns the targets within a table; the others are left out with a warning."""
    slow, fast = table.points[0].speedup, table.points[-1].speedup
    if far := [f"{target:g}" for target in targets if not slow <= target <= fast]:
        note = "%s: %s tokens per iteration are left out: %s has %.2f to %.2f"
        logging.warning(note, what, ", ".join(far), table.heuristic, slow, fast)
    return [target for target in targets if slow <= target <= fast]


def _named(options: UnmaskingOptions | BeamOptions) -> Result:
    return dict(zip(("system", "setting"), describe(options), strict=True))


def _speeds(bench: Workbench, heuristic: str, text: Text) -> dict[float, float]:
    return {
        setting: bench.quality(bench.options(heuristic, setting), text)["slowest"]
        for setting in HEURISTICS[heuristic].grid
    }


def _table(
    bench: Workbench, heuristic: str, speeds: dict[float, float], num_lines: int
) -> SpeedTable:
    """Makes a table of the speeds of settings as cmlm-calibrate does.

    A setting that is no faster is left out; of few lines nothing is interpolated.
    """
    points = rising_points(heuristic, speeds)
    key = heuristic, UnmaskingOptions.strategy, bench.length_beam, False
    return SpeedTable(*key, points, num_lines, "")


FIGURES: dict[str, Callable[[Workbench], Result]] = {
    figure.__name__: figure
    for figure in (
        *(tradeoff, strategies, passes, lengths, dev_test, promises),
        *(length_classifier, probabilities, temperature),
    )
}
