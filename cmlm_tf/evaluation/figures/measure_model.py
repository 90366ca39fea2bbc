"""What the figures on the model's own probabilities measure."""

from typing import Any

from cmlm_tf.evaluation.figures import reliability
from cmlm_tf.evaluation.figures.lengths import length_accuracy, predicted_lengths
from cmlm_tf.evaluation.figures.measure import (
    MOST_BEAMS,
    QUALITY,
    SETTINGS,
    TEMPERATURE_SYSTEMS,
    Result,
    Rows,
    options_of,
    take,
)
from cmlm_tf.evaluation.figures.split import Split
from cmlm_tf.evaluation.figures.workbench import Workbench
from cmlm_tf.evaluation.sweep import describe

#: Of the settings of the trade-off, every so many are tried at another temperature.
TEMPERATURE_STEP = 2


def probabilities(bench: Workbench) -> Result:
    """Reliability before and after temperature scaling (section 4.2's guess)."""

    def measure(split: Split, temperature: float | None) -> dict[str, Any]:
        found = reliability.predict_references(
            bench.student, split.sources, split.references
        )
        fitted = temperature or reliability.best_temperature(found)
        return {
            "before": reliability.summarize(found, 1.0),
            "after": reliability.summarize(found, fitted),
        }

    bench.expect(2)
    dev = bench.point(
        "reliability", None, bench.dev, {}, lambda: measure(bench.dev, None)
    )
    fitted = dev["after"]["temperature"]
    more = {"temperature": fitted}
    test = bench.point(
        "reliability", None, bench.test, more, lambda: measure(bench.test, fitted)
    )
    rows = []
    # A temperature of 1 changes nothing: what is after is what was before.
    moments = ("before",) if fitted == 1.0 else ("before", "after")
    for when in moments:
        summary = test[when]
        groups = [("all", summary["all"])]
        for number, group in enumerate(summary["by_iteration"], start=1):
            groups.append((f"pass {number}", group))
        for group in summary["by_rank"]:
            groups.append((_ranks(group["first_rank"]), group))
        for name, group in groups:
            row = {"temperature": summary["temperature"], "group": name}
            fields = ("count", "confidence", "accuracy", "ece", "bins")
            rows.append(row | take(group, fields))
    losses = {when: test[when]["loss"] for when in moments}
    return {"rows": rows, "temperature": fitted, "loss": losses}


def _ranks(first: int) -> str:
    """Names a group of ranks.

    >>> _ranks(1), _ranks(9), _ranks(17)
    ('rank 1', 'ranks 9 to 16', 'ranks from 17')
    """
    if first == reliability.RANKS[-1]:
        return f"ranks from {first}"
    last = reliability.RANKS[reliability.RANKS.index(first) + 1] - 1
    return f"rank {first}" if first == last else f"ranks {first} to {last}"


def temperature(bench: Workbench) -> Result:
    """comb-thresh and fcomb-thresh at the fitted temperature, and without it."""
    fitted = probabilities(bench)["temperature"]
    points = [
        (heuristic, value, setting)
        for heuristic in TEMPERATURE_SYSTEMS
        for value in dict.fromkeys((1.0, fitted))
        for setting in SETTINGS[heuristic][::TEMPERATURE_STEP]
    ]
    bench.expect(2 + len(points))
    rows = []
    for heuristic, value, setting in points:
        options = options_of(bench, heuristic, setting)
        point = bench.quality(options, bench.test, temperature=value)
        system, text = describe(options)
        row = {"system": system, "temperature": value, "setting": text}
        rows.append(row | take(point, QUALITY))
    found = {"rows": rows, "temperature": fitted}
    return {"length_beam": bench.length_beam, **found}


def length_classifier(bench: Workbench) -> Result:
    """Accuracy of predicted lengths against the references'."""
    split = bench.test
    most = min(MOST_BEAMS, bench.longest)

    def measure() -> dict[str, Any]:
        found = predicted_lengths(bench.student, split.sources, most)
        references = bench.student.subwords.encode(split.references)
        return length_accuracy(found, [len(ids) for ids in references])

    bench.expect(1)
    point = bench.point("length_classifier", None, split, {"most": most}, measure)
    rows: Rows = [
        {"measure": f"best length within {distance} subwords", "share": share}
        for distance, share in point["within"].items()
    ]
    for number, share in enumerate(point["contained"], start=1):
        rows.append({"measure": f"right length among {number} best", "share": share})
    return {"rows": rows}
