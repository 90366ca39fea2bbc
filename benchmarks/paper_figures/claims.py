"""Which of the paper's claims hold in measured figures, by fixed rules.

Kreutzer et al. (2020), section 4; docs/figures.md tells the rules.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paper_figures.compare import (
    FAILS,
    HOLDS,
    NOT_DECIDED,
    SPEEDS,
    Difference,
    Judged,
    all_of,
    apart,
    difference,
    half_interval,
    interpolate,
    judge_gain,
    scores,
)

#: What was measured on one model: the content of figures by their name.
Results = dict[str, dict[str, Any]]
#: BLEU by which a system may be worse that is to be no worse.
MARGIN = 0.1
#: Of the paper, in tokens per iteration: mean and largest error of dev against test.
MEAN_ERROR, LARGEST_ERROR = 0.3, 0.8
#: Of the paper: what comb-thresh loses to the teacher, and at which speed.
LOSS, LOSS_SPEED = 0.3, 4.0
_SHORT, _LONG = (1, 29), (30, 10**6)
_BEAMS = 2


def findings(results: Results) -> pd.DataFrame:
    """Judges all claims for which there are figures, by their names.

    Returns:
        Columns `claim`, `here` (the verdict), `numbers` and `figure`.
    """
    found = [
        (*judged, name)
        for name, judge in _JUDGES.items()
        if name in results
        for judged in judge(results)
    ]
    return pd.DataFrame(found, columns=["claim", "here", "numbers", "figure"])


def _rows(results: Results, name: str) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Returns a figure's rows, and those of each system."""
    frame = pd.DataFrame(results[name]["rows"])
    return frame, dict(iter(frame.groupby("system"))) if len(frame) else {}


def _tradeoff(results: Results) -> list[Judged]:
    _, systems = _rows(results, "tradeoff")
    found = []
    # The paper leaves open whose passes it counts.
    for passes, suffix in (
        ("slowest", ""),
        ("selected", ", by the selected candidate's passes"),
    ):
        for better, worse, claim in (
            ("fixed_k", "mask_predict", "fixed K beats fixed T"),
            ("comb_thresh", "fixed_k", "comb-thresh beats fixed K"),
            ("comb_thresh", "thresh", "thresh stays behind comb-thresh"),
            ("comb_thresh", "fcomb_thresh", "fcomb-thresh stays behind comb-thresh"),
        ):
            sides = systems[better], systems[worse]
            found.append(judge_gain(claim + suffix, *sides, passes))
        found.append(_loss(systems, passes, suffix))
    return found


def _loss(systems: dict[str, pd.DataFrame], passes: str, suffix: str) -> Judged:
    claim = f"comb-thresh at {LOSS_SPEED:g} tokens/iteration loses less than {LOSS:g} "
    claim += f"BLEU to the teacher{suffix}"
    frame = systems["comb_thresh"]
    speeds, values = interpolate(frame, passes, [LOSS_SPEED])
    if not len(speeds):
        span = f"{frame[passes].min():.2f} to {frame[passes].max():.2f}"
        return claim, NOT_DECIDED, f"its speeds are {span}"
    beam = systems["teacher"].query("setting == 'beam 5'")
    lost = difference(scores(beam), values)
    numbers = f"loses {lost.mean:.2f} ± {lost.half:.2f} BLEU; "
    numbers += f"teacher's beam 5 {beam.bleu.iloc[0]:.2f}"
    return claim, Difference(LOSS - lost.mean, lost.half).verdict, numbers


def _strategies(results: Results) -> list[Judged]:
    frame, _ = _rows(results, "strategies")
    no_worse = "update-masked-sub is no worse than update-masked"
    behind = f"update-all is behind past b = {_BEAMS}"
    wide = frame[frame.length_beam > _BEAMS]
    if wide.empty:
        numbers = f"no length beam is wider than {_BEAMS}"
        return [(claim, NOT_DECIDED, numbers) for claim in (no_worse, behind)]
    bleu = {system: scores(rows) for system, rows in wide.groupby("system")}
    masked, sub = bleu["update_masked"], bleu["update_masked_sub"]
    change = difference(sub, masked)
    leads = [difference(other, bleu["update_all"]) for other in (sub, masked)]
    name = f"BLEU on average over b > {_BEAMS}"
    numbers = f"update-masked-sub leads by {leads[0]}, update-masked by {leads[1]} "
    verdict = change._replace(mean=change.mean + MARGIN).verdict
    return [
        (no_worse, verdict, f"{change} {name}"),
        (behind, all_of([lead.verdict for lead in leads]), numbers + name),
    ]


def _passes(results: Results) -> list[Judged]:
    frame, _ = _rows(results, "passes")
    found = []
    for target, rows in frame.groupby("target") if len(frame) else ():
        claim = "comb-thresh is ahead of fixed K over all passes, at "
        claim += f"{target:g} tokens/iteration"
        systems = dict(iter(rows.groupby("system")))
        if unmeasured := _unmeasured(systems, "comb_thresh", "fixed_k"):
            found.append((claim, NOT_DECIDED, unmeasured))
            continue
        most = rows.iteration.max()

        def bleu(system: str, systems=systems, most=most) -> np.ndarray:
            values = scores(systems[system])
            # After its last pass a system stays where it is.
            return np.pad(values, ((0, most - len(values)), (0, 0)), "edge")

        lead = difference(bleu("comb_thresh"), bleu("fixed_k"))
        numbers = f"{lead} BLEU on average over {most} passes"
        found.append((claim, lead.verdict, numbers))
    return found


def _unmeasured(found: Any, *systems: str) -> str:
    """Names systems without a row: their speed was left out."""
    missing = [name.replace("_", "-") for name in systems if name not in found]
    return f"not measured: {', '.join(missing)}" if missing else ""


def _lengths(results: Results) -> list[Judged]:
    _, systems = _rows(results, "lengths")

    def judge(claim: str, more: str, less: Sequence[str], span: tuple[int, int]):
        if unmeasured := _unmeasured(systems, more, *less):
            return claim, NOT_DECIDED, unmeasured
        means = {name: _mean_passes(systems[name], span) for name in (more, *less)}
        if not all(mean.mean for mean in means.values()):
            return claim, NOT_DECIDED, "no sentence is so long"
        verdict = all_of([apart(means[more], means[name]).verdict for name in less])
        shown = ", ".join(f"{k} {m:.2f} ± {h:.2f}" for k, (m, h) in means.items())
        return claim, verdict, f"{shown.replace('_', '-')} passes on average"

    return [
        judge(
            f"flexible iterations are fewer up to a length of {_LONG[0]}",
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


def _mean_passes(frame: pd.DataFrame, span: tuple[int, int]) -> Difference:
    """Returns the mean over all sentences of some lengths, against 0."""
    frame = frame[frame.first_length.between(*span)]
    total = max(frame["count"].sum(), 1)
    mean = (frame["count"] * frame["mean"]).sum() / total
    return Difference(mean, half_interval(frame["count"], frame["std"]))


def _close(claim: str, x_name: str, name: str) -> Callable[[Results], list[Judged]]:
    """Judges whether speeds on two texts are close, by the paper's two numbers.

    These are of speeds from 1 to 11; faster ones do not count. The deviation of the
    errors is no interval: they are of one pair of texts.
    """
    claim += f" ({MEAN_ERROR:g} on average, {LARGEST_ERROR:g} at most)"

    def judge(results: Results) -> list[Judged]:
        _, systems = _rows(results, name)
        if unmeasured := _unmeasured(systems, "comb_thresh"):
            return [(claim, NOT_DECIDED, unmeasured)]
        rows = systems["comb_thresh"]
        rows = rows[rows[x_name].round() <= SPEEDS[-1]]
        if rows.empty:
            return [(claim, NOT_DECIDED, f"all are faster than {SPEEDS[-1]:g}")]
        mean, largest, speeds = rows.error.mean(), rows.error.max(), rows[x_name]
        close = mean <= MEAN_ERROR and largest <= LARGEST_ERROR
        numbers = f"error {mean:.2f} on average, {largest:.2f} at most"
        numbers += f", at {speeds.min():.1f} to {speeds.max():.1f} tokens/iteration"
        if len(rows) > 1:
            numbers += f"; standard deviation {rows.error.std():.2f}"
            numbers += f" over {len(rows)} speeds"
        for text, number in results[name]["lines"].items():
            numbers += f"{';' if text == 'dev' else ','} {number} lines of {text}"
        return [(claim, HOLDS if close else FAILS, numbers)]

    return judge


def _probabilities(results: Results) -> list[Judged]:
    frame = pd.DataFrame(results["probabilities"]["rows"])
    ranks = frame[(frame.temperature == 1.0) & frame.group.str.startswith("rank")]
    errors = {}
    for row in ranks.itertuples():
        counts, _, shares = np.array(row.bins).T
        half = half_interval(counts, np.sqrt(shares * (1 - shares)))
        errors[row.group] = Difference(100 * row.ece, 100 * half)
    first, *_, last = errors.values()
    shown = (f"{k}: {ece:.1f} ± {half:.1f} %" for k, (ece, half) in errors.items())
    claim = "probabilities of low ranks are worse calibrated"
    return [(claim, apart(last, first).verdict, f"ECE {', '.join(shown)}")]


def _temperature(results: Results) -> list[Judged]:
    """Judges what temperature scaling helps, where it made calibration better."""
    _, systems = _rows(results, "temperature")
    result = results["temperature"]
    fitted = result["temperature"]
    before, after = (100 * result["ece"][when] for when in ("before", "after"))
    calibration = f"ECE on test {before:.1f} % without, {after:.1f} % with temperature"
    calibration += f" {fitted:g}"
    found = []
    for system, name in (("comb_thresh", "comb"), ("fcomb_thresh", "fcomb")):
        claim = f"better calibrated probabilities help {name}-thresh"
        by_value = dict(iter(systems[system].groupby("temperature")))
        _, verdict, numbers = judge_gain(claim, by_value[fitted], by_value[1.0])
        if fitted == 1.0:
            why_not = "the fitted temperature is 1: nothing changes"
            found.append((claim, NOT_DECIDED, why_not))
        elif after >= before:
            why_not = f"not better calibrated: {calibration}"
            found.append((claim, NOT_DECIDED, why_not))
        else:
            found.append((claim, verdict, f"{numbers}; {calibration}"))
    return found


_JUDGES: dict[str, Callable[[Results], list[Judged]]] = {
    "tradeoff": _tradeoff,
    "strategies": _strategies,
    "passes": _passes,
    "lengths": _lengths,
    "dev_test": _close("dev and test speed are close", "dev", "dev_test"),
    "promises": _close(
        "speeds promised from dev are kept on test", "promised", "promises"
    ),
    "probabilities": _probabilities,
    "temperature": _temperature,
}
