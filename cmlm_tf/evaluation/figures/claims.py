"""Which of the paper's claims hold in measured figures, by fixed rules.

Kreutzer et al. (2020), section 4. Systems are compared at equal speed: BLEU is
interpolated between their settings, and the mean difference taken over the speeds
that both reach. Differences up to `MARGIN` count as none.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cmlm_tf.evaluation.table import markdown_table

Row = dict[str, Any]
Results = dict[str, dict[str, Any]]

#: BLEU below which a difference says nothing.
MARGIN = 0.1
SPEEDS = np.arange(1.0, 11.01, 0.25)
#: Of the paper, in tokens per iteration: mean and largest error of dev against test.
MEAN_ERROR, LARGEST_ERROR = 0.3, 0.8
_SHORT, _LONG = 30, 31


class Finding(NamedTuple):
    """What became of a claim.

    Attributes:
        claim: in the paper's words, short.
        verdict: `holds`, `fails`, `no difference` or `cannot be told`.
        numbers: what the verdict rests on.
        figure: which figure shows it.
    """

    claim: str
    verdict: str
    numbers: str
    figure: str


def findings(results: Results) -> list[Finding]:
    """Judges all claims for which there are figures.

    Args:
        results: the JSON content of figures by their name.
    """
    found: list[Finding] = []
    for name, judge in _JUDGES.items():
        if name in results:
            found += judge(results[name])
    return found


def as_markdown(found: Sequence[Finding]) -> str:
    """Renders findings as a table.

    >>> print(as_markdown([Finding("a is b", "holds", "1 < 2", "tradeoff")]))
    | claim | here | numbers | figure |
    |:--|:--|:--|:--|
    | a is b | holds | 1 < 2 | tradeoff |
    <BLANKLINE>
    """
    return markdown_table(["claim", "here", "numbers", "figure"], found) + "\n"


def side_by_side(models: Mapping[str, Sequence[Finding]]) -> str:
    """Renders the findings of several models as one table, a claim a row.

    >>> print(side_by_side({"small": [Finding("a is b", "holds", "1 < 2", "x")]}))
    | claim | small |
    |:--|:--|
    | a is b | holds: 1 < 2 |
    <BLANKLINE>

    Args:
        models: findings by the name of the model and its text.
    """
    cells: dict[str, dict[str, str]] = {}
    for model, found in models.items():
        for finding in found:
            row = cells.setdefault(finding.claim, {})
            row[model] = f"{finding.verdict}: {finding.numbers}"
    rows = (
        [claim, *(row.get(model, "") for model in models)]
        for claim, row in cells.items()
    )
    return markdown_table(["claim", *models], rows) + "\n"


def gain(
    rows: Sequence[Row], better: dict[str, Any], worse: dict[str, Any]
) -> tuple[float, float, float]:
    """Compares BLEU at equal speed.

    >>> rows = [{"system": s, "slowest": x, "bleu": 30.0 - x + (s == "a")}
    ...         for s in "ab" for x in (1.0, 3.0)]
    >>> gain(rows, {"system": "a"}, {"system": "b"})
    (1.0, 1.0, 3.0)

    Args:
        rows: of a figure, with `slowest` and `bleu`.
        better: fields that its rows have.
        worse: likewise.

    Returns:
        The mean difference, and the slowest and the fastest speed of the comparison.

    Raises:
        ValueError: no speed is common to both.
    """
    curves = [_curve(rows, chosen) for chosen in (better, worse)]
    low = max(speeds[0] for speeds, _ in curves)
    high = min(speeds[-1] for speeds, _ in curves)
    speeds = SPEEDS[(SPEEDS >= low) & (SPEEDS <= high)]
    if not len(speeds):
        raise ValueError("no common speed")
    first, second = (np.interp(speeds, *curve) for curve in curves)
    return float(np.mean(first - second)), float(speeds[0]), float(speeds[-1])


def _curve(rows: Sequence[Row], chosen: dict[str, Any]) -> tuple[Any, Any]:
    points = [
        (row["slowest"], row["bleu"]) for row in rows if chosen.items() <= row.items()
    ]
    return tuple(map(np.array, zip(*sorted(points), strict=True)))  # type: ignore


def _compare(
    claim: str,
    figure: str,
    rows: Sequence[Row],
    better: dict[str, Any],
    worse: dict[str, Any],
) -> Finding:
    """Judges whether one system is better than another at equal speed."""
    try:
        mean, low, high = gain(rows, better, worse)
    except ValueError as error:
        return Finding(claim, "cannot be told", str(error), figure)
    numbers = f"{mean:+.2f} BLEU on average from {low:g} to {high:g} tokens/iteration"
    return Finding(claim, _verdict(mean), numbers, figure)


def _verdict(difference: float) -> str:
    if abs(difference) <= MARGIN:
        return "no difference"
    return "holds" if difference > 0 else "fails"


def _tradeoff(result: dict[str, Any]) -> list[Finding]:
    rows = result["rows"]
    found = []
    for better, worse, claim in (
        ("fixed_k", "mask_predict", "fixed K beats fixed T"),
        ("comb_thresh", "fixed_k", "comb-thresh beats fixed K"),
        ("comb_thresh", "thresh", "thresh stays behind comb-thresh"),
        ("comb_thresh", "fcomb_thresh", "fcomb-thresh stays behind comb-thresh"),
    ):
        sides = {"system": better}, {"system": worse}
        found.append(_compare(claim, "tradeoff", rows, *sides))
    speeds, bleu = _curve(rows, {"system": "comb_thresh"})
    teacher = next(row["bleu"] for row in rows if row["setting"] == "beam 5")
    loss = teacher - float(np.interp(4.0, speeds, bleu))
    claim = "comb-thresh at 4 tokens/iteration loses less than 0.3 BLEU to the teacher"
    verdict = "holds" if loss < 0.3 else "fails"
    numbers = f"loses {loss:.2f}; teacher's beam 5 {teacher:.2f}"
    return [*found, Finding(claim, verdict, numbers, "tradeoff")]


def _strategies(result: dict[str, Any]) -> list[Finding]:
    def mean(system: str) -> float:
        wide = (r for r in result["rows"] if r["length_beam"] > 2)
        return float(np.mean([r["bleu"] for r in wide if r["system"] == system]))

    masked, sub, every = map(mean, ("update_masked", "update_masked_sub", "update_all"))
    name = "BLEU on average over b > 2"
    return [
        Finding(
            "update-masked-sub is no worse than update-masked",
            "holds" if sub - masked >= -MARGIN else "fails",
            f"{sub - masked:+.2f} {name}",
            "strategies",
        ),
        Finding(
            "update-all is behind past b = 2",
            _verdict(min(sub, masked) - every),
            f"{every - sub:+.2f} to update-masked-sub, {every - masked:+.2f} to "
            f"update-masked, {name}",
            "strategies",
        ),
    ]


def _passes(result: dict[str, Any]) -> list[Finding]:
    found = []
    for target in sorted({row["target"] for row in result["rows"]}):
        curves: dict[str, list[float]] = {}
        for row in result["rows"]:
            if row["target"] == target:
                curves.setdefault(row["system"], []).append(row["bleu"])
        most = max(map(len, curves.values()))
        filled = {k: v + v[-1:] * (most - len(v)) for k, v in curves.items()}
        difference = float(
            np.mean(np.subtract(filled["comb_thresh"], filled["fixed_k"]))
        )
        claim = f"comb-thresh is ahead of fixed K after each pass, at {target:g}"
        numbers = f"{difference:+.2f} BLEU on average over {most} passes"
        found.append(Finding(claim, _verdict(difference), numbers, "passes"))
    return found


def _lengths(result: dict[str, Any]) -> list[Finding]:
    def mean(system: str, first: int, last: int) -> float:
        rows = [
            row
            for row in result["rows"]
            if row["system"] == system and first <= row["first_length"] < last
        ]
        total = sum(row["count"] * row["mean"] for row in rows)
        return total / max(sum(row["count"] for row in rows), 1)

    fixed_t = mean("mask_predict", 0, _SHORT)
    short = {name: mean(name, 0, _SHORT) for name in ("fixed_k", "comb_thresh")}
    found = [
        Finding(
            f"flexible iterations are fewer up to a length of {_SHORT}",
            "holds" if max(short.values()) < fixed_t else "fails",
            f"fixed K {short['fixed_k']:.2f}, comb-thresh {short['comb_thresh']:.2f}, "
            f"fixed T {fixed_t:.2f} passes on average",
            "lengths",
        )
    ]
    systems = ("mask_predict", "fixed_k", "thresh", "comb_thresh")
    long = {name: mean(name, _LONG, 10**6) for name in systems}
    if all(long.values()):
        numbers = ", ".join(f"{name} {value:.2f}" for name, value in long.items())
        is_most = long["comb_thresh"] == max(long.values())
        is_least = long["thresh"] == min(long.values())
        for claim, holds in (
            ("comb-thresh spends most passes on longer sentences", is_most),
            ("thresh spends fewest passes on longer sentences", is_least),
        ):
            found.append(
                Finding(claim, "holds" if holds else "fails", numbers, "lengths")
            )
    return found


def _dev_test(result: dict[str, Any]) -> list[Finding]:
    error = result["errors"]["comb_thresh"]
    close = error["mean"] <= MEAN_ERROR and error["largest"] <= LARGEST_ERROR
    numbers = f"error {error['mean']:.2f} on average, {error['largest']:.2f} at most"
    claim = "dev and test speed are close (0.3 on average, 0.8 at most)"
    return [Finding(claim, "holds" if close else "fails", numbers, "dev_test")]


def _probabilities(result: dict[str, Any]) -> list[Finding]:
    ranks = [
        row
        for row in result["rows"]
        if row["temperature"] == 1.0 and row["group"].startswith("rank")
    ]
    first, last = ranks[0], ranks[-1]
    errors = ", ".join(f"{row['group']}: {100 * row['ece']:.1f} %" for row in ranks)
    claim = "probabilities of low ranks are worse calibrated"
    verdict = "holds" if last["ece"] > first["ece"] else "fails"
    return [Finding(claim, verdict, f"ECE {errors}", "probabilities")]


def _temperature(result: dict[str, Any]) -> list[Finding]:
    fitted = result["temperature"]
    found = []
    for system, name in (("comb_thresh", "comb"), ("fcomb_thresh", "fcomb")):
        if fitted == 1.0:
            continue
        sides = ({"system": system, "temperature": t} for t in (fitted, 1.0))
        claim = f"better calibrated probabilities help {name}-thresh"
        found.append(_compare(claim, "temperature", result["rows"], *sides))
    return found


_JUDGES: dict[str, Callable[[dict[str, Any]], list[Finding]]] = {
    "tradeoff": _tradeoff,
    "strategies": _strategies,
    "passes": _passes,
    "lengths": _lengths,
    "dev_test": _dev_test,
    "probabilities": _probabilities,
    "temperature": _temperature,
}
