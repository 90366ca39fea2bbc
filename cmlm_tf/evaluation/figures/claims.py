"""Which of the paper's claims hold in measured figures, by fixed rules.

Kreutzer et al. (2020), section 4; docs/figures.md tells the rules.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cmlm_tf.evaluation.figures import claims_model
from cmlm_tf.evaluation.figures.compare import (
    FAILS,
    HOLDS,
    NOT_DECIDED,
    SPEEDS,
    Difference,
    Judged,
    Results,
    Row,
    Scores,
    all_of,
    curve,
    difference,
    half_interval,
    judge_gain,
)

#: BLEU by which a system may be worse that is to be no worse.
MARGIN = 0.1
#: Of the paper, in tokens per iteration: mean and largest error of dev against test.
MEAN_ERROR, LARGEST_ERROR = 0.3, 0.8
#: Of the paper: what comb-thresh loses to the teacher, and at which speed.
LOSS, LOSS_SPEED = 0.3, 4.0
_SHORT, _LONG = (0, 30), (30, 10**6)
_BEAMS = 2


class Finding(NamedTuple):
    """What became of a claim.

    Attributes:
        claim: in the paper's words, short.
        verdict: `holds`, `fails` or `not decided`.
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
    return [
        Finding(claim, verdict, numbers, name)
        for name, judge in _JUDGES.items()
        if name in results
        for claim, verdict, numbers in judge(results)
    ]


def _tradeoff(results: Results) -> list[Judged]:
    rows = results["tradeoff"]["rows"]
    return [
        *_by_speed(rows, "slowest", ""),
        *_by_speed(rows, "selected", ", by the selected candidate's passes"),
    ]


def _by_speed(rows: Sequence[Row], passes: str, suffix: str) -> list[Judged]:
    """Judges what is claimed at equal speed; the paper leaves open whose passes."""
    found = [
        judge_gain(claim + suffix, rows, {"system": better}, {"system": worse}, passes)
        for better, worse, claim in (
            ("fixed_k", "mask_predict", "fixed K beats fixed T"),
            ("comb_thresh", "fixed_k", "comb-thresh beats fixed K"),
            ("comb_thresh", "thresh", "thresh stays behind comb-thresh"),
            ("comb_thresh", "fcomb_thresh", "fcomb-thresh stays behind comb-thresh"),
        )
    ]
    return [*found, _loss(rows, passes, suffix)]


def _loss(rows: Sequence[Row], passes: str, suffix: str) -> Judged:
    claim = (
        f"comb-thresh at {LOSS_SPEED:g} tokens/iteration loses less than {LOSS:g} BLEU "
        f"to the teacher{suffix}"
    )
    speeds, scores = curve(rows, {"system": "comb_thresh"}, passes)
    if not speeds[0] <= LOSS_SPEED <= speeds[-1]:
        return claim, NOT_DECIDED, f"its speeds are {speeds[0]:.2f} to {speeds[-1]:.2f}"
    beam = next(row for row in rows if row["setting"] == "beam 5")
    student = scores.at(np.array([LOSS_SPEED]), speeds)
    lost = difference(Scores.of([beam]), student)
    numbers = f"loses {lost.mean:.2f} ± {lost.half:.2f} BLEU; "
    numbers += f"teacher's beam 5 {beam['bleu']:.2f}"
    return claim, Difference(LOSS - lost.mean, lost.half).verdict, numbers


def _strategies(results: Results) -> list[Judged]:
    rows = results["strategies"]["rows"]
    wide = [row for row in rows if row["length_beam"] > _BEAMS]
    no_worse_claim = "update-masked-sub is no worse than update-masked"
    behind_claim = f"update-all is behind past b = {_BEAMS}"
    if not wide:
        numbers = f"no length beam is wider than {_BEAMS}"
        claims = (no_worse_claim, behind_claim)
        return [(claim, NOT_DECIDED, numbers) for claim in claims]

    def bleu(system: str) -> Scores:
        return Scores.of([row for row in wide if row["system"] == system])

    masked, sub, every = map(bleu, ("update_masked", "update_masked_sub", "update_all"))
    name = f"BLEU on average over b > {_BEAMS}"
    change = difference(sub, masked)
    no_worse = change._replace(mean=change.mean + MARGIN)
    behind = [difference(other, every) for other in (sub, masked)]
    return [
        (no_worse_claim, no_worse.verdict, f"{change} {name}"),
        (
            behind_claim,
            all_of(lead.verdict for lead in behind),
            f"update-masked-sub leads by {behind[0]}, update-masked by {behind[1]} "
            + name,
        ),
    ]


def _passes(results: Results) -> list[Judged]:
    found = []
    every = results["passes"]["rows"]
    for target in sorted({row["target"] for row in every}):
        rows = [row for row in every if row["target"] == target]
        most = max(row["iteration"] for row in rows)
        claim = f"comb-thresh is ahead of fixed K over all passes, at {target:g}"
        claim += " tokens/iteration"
        if unmeasured := _unmeasured(rows, ("comb_thresh", "fixed_k")):
            found.append((claim, NOT_DECIDED, unmeasured))
            continue

        def bleu(system: str, rows: list[Row] = rows, most: int = most) -> Scores:
            chosen = [row for row in rows if row["system"] == system]
            # After its last pass a system stays where it is.
            chosen += chosen[-1:] * (most - len(chosen))
            return Scores.of(chosen)

        lead = difference(bleu("comb_thresh"), bleu("fixed_k"))
        numbers = f"{lead} BLEU on average over {most} passes"
        found.append((claim, lead.verdict, numbers))
    return found


def _unmeasured(rows: Sequence[Row], systems: Sequence[str]) -> str:
    """Names systems without a row: their speed was left out."""
    found = {row["system"] for row in rows}
    missing = [name.replace("_", "-") for name in systems if name not in found]
    return f"not measured: {', '.join(missing)}" if missing else ""


def _lengths(results: Results) -> list[Judged]:
    measured = results["lengths"]["rows"]

    def mean(system: str, lengths: tuple[int, int]) -> Scores:
        first, last = lengths
        rows = [
            row
            for row in measured
            if row["system"] == system and first <= row["first_length"] < last
        ]
        total = sum(row["count"] * row["mean"] for row in rows)
        half = half_interval((row["count"], row["std"]) for row in rows)
        return Scores(total / max(sum(row["count"] for row in rows), 1), half)

    def judge(claim: str, more: str, less: Sequence[str], lengths: tuple[int, int]):
        if unmeasured := _unmeasured(measured, (more, *less)):
            return claim, NOT_DECIDED, unmeasured
        means = {name: mean(name, lengths) for name in (more, *less)}
        if not all(scores.values for scores in means.values()):
            return claim, NOT_DECIDED, "no sentence is so long"
        verdict = all_of(difference(means[more], means[name]).verdict for name in less)
        shown = ", ".join(f"{k} {v:.2f} ± {h:.2f}" for k, (v, h, _) in means.items())
        return claim, verdict, f"{shown.replace('_', '-')} passes on average"

    return [
        judge(
            f"flexible iterations are fewer up to a length of {_SHORT[1]}",
            *("mask_predict", ("fixed_k", "thresh", "comb_thresh"), _SHORT),
        ),
        judge(
            "comb-thresh spends most passes on longer sentences",
            *("comb_thresh", ("mask_predict", "fixed_k", "thresh"), _LONG),
        ),
        judge(
            "thresh spends fewer passes on longer sentences than fixed T",
            *("mask_predict", ("thresh",), _LONG),
        ),
    ]


def _close(claim: str, result: dict[str, Any], x_name: str) -> list[Judged]:
    """Judges whether speeds on two texts are close, by the paper's two numbers.

    These are of speeds from 1 to 11; faster ones do not count. The deviation of the
    errors is no interval: they are of one pair of texts.
    """
    claim += f" ({MEAN_ERROR:g} on average, {LARGEST_ERROR:g} at most)"
    if unmeasured := _unmeasured(result["rows"], ("comb_thresh",)):
        return [(claim, NOT_DECIDED, unmeasured)]
    rows = [
        row
        for row in result["rows"]
        if row["system"] == "comb_thresh" and round(row[x_name]) <= SPEEDS[-1]
    ]
    if not rows:
        return [(claim, NOT_DECIDED, f"all are faster than {SPEEDS[-1]:g}")]
    errors, speeds = [row["error"] for row in rows], [row[x_name] for row in rows]
    mean, largest = float(np.mean(errors)), max(errors)
    close = mean <= MEAN_ERROR and largest <= LARGEST_ERROR
    numbers = f"error {mean:.2f} on average, {largest:.2f} at most"
    numbers += f", at {min(speeds):.1f} to {max(speeds):.1f} tokens/iteration"
    if len(errors) > 1:
        spread = f"{np.std(errors, ddof=1):.2f} over {len(errors)} speeds"
        numbers += f"; standard deviation {spread}"
    lines = (f"{number} lines of {name}" for name, number in result["lines"].items())
    return [(claim, HOLDS if close else FAILS, f"{numbers}; {', '.join(lines)}")]


def _dev_test(results: Results) -> list[Judged]:
    return _close("dev and test speed are close", results["dev_test"], "dev")


def _promises(results: Results) -> list[Judged]:
    claim = "speeds promised from dev are kept on test"
    return _close(claim, results["promises"], "promised")


_JUDGES: dict[str, Callable[[Results], list[Judged]]] = {
    "tradeoff": _tradeoff,
    "strategies": _strategies,
    "passes": _passes,
    "lengths": _lengths,
    "dev_test": _dev_test,
    "promises": _promises,
    "probabilities": claims_model.probabilities,
    "temperature": claims_model.temperature,
}
