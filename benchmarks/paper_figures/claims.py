"""Which of the paper's claims hold in measured figures, by fixed rules.

Kreutzer et al. (2020), section 4; docs/figures.md tells the rules.
"""

from collections.abc import Callable, Iterator
from functools import partial
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

#: The content of a figure; of those measured on one model, by their names.
Result = dict[str, Any]
Results = dict[str, Result]
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
        for judged in judge(results[name])
    ]
    return pd.DataFrame(found, columns=["claim", "here", "numbers", "figure"])


def _groups(rows: Any, column: str = "system") -> dict[Any, pd.DataFrame]:
    """Returns the rows of each system, or of each value of another column."""
    frame = pd.DataFrame(rows)
    return dict(iter(frame.groupby(column))) if len(frame) else {}


def _unmeasured(found: Any, *systems: str) -> str:
    """Names systems without a row: their speed was left out."""
    missing = [name.replace("_", "-") for name in systems if name not in found]
    return f"not measured: {', '.join(missing)}" if missing else ""


def _tradeoff(result: Result) -> Iterator[Judged]:
    systems = _groups(result["rows"])
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
            yield judge_gain(claim + suffix, systems[better], systems[worse], passes)
        yield _loss(systems, passes, suffix)


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


def _strategies(result: Result) -> Iterator[Judged]:
    no_worse = "update-masked-sub is no worse than update-masked"
    behind = f"update-all is behind past b = {_BEAMS}"
    wide = [row for row in result["rows"] if row["length_beam"] > _BEAMS]
    if not wide:
        numbers = f"no length beam is wider than {_BEAMS}"
        yield from ((claim, NOT_DECIDED, numbers) for claim in (no_worse, behind))
        return
    bleu = {system: scores(rows) for system, rows in _groups(wide).items()}
    masked, sub = bleu["update_masked"], bleu["update_masked_sub"]
    change = difference(sub, masked)
    name = f"BLEU on average over b > {_BEAMS}"
    # A little worse is no worse.
    verdict = change._replace(mean=change.mean + MARGIN).verdict
    yield no_worse, verdict, f"{change} {name}"
    leads = [difference(other, bleu["update_all"]) for other in (sub, masked)]
    numbers = f"update-masked-sub leads by {leads[0]}, update-masked by {leads[1]} "
    yield behind, all_of([lead.verdict for lead in leads]), numbers + name


def _passes(result: Result) -> Iterator[Judged]:
    for target, rows in _groups(result["rows"], "target").items():
        claim = "comb-thresh is ahead of fixed K over all passes, at "
        claim += f"{target:g} tokens/iteration"
        systems = _groups(rows)
        if unmeasured := _unmeasured(systems, "comb_thresh", "fixed_k"):
            yield claim, NOT_DECIDED, unmeasured
            continue
        most = rows.iteration.max()
        comb, fixed = scores(systems["comb_thresh"]), scores(systems["fixed_k"])
        # After its last pass a system stays where it is.
        comb, fixed = (
            np.pad(bleu, ((0, most - len(bleu)), (0, 0)), "edge")
            for bleu in (comb, fixed)
        )
        lead = difference(comb, fixed)
        yield claim, lead.verdict, f"{lead} BLEU on average over {most} passes"


def _lengths(result: Result) -> Iterator[Judged]:
    systems = _groups(result["rows"])
    for claim, more, less, span in (
        (
            f"flexible iterations are fewer up to a length of {_LONG[0]}",
            *("mask_predict", ("fixed_k", "thresh", "comb_thresh"), _SHORT),
        ),
        (
            "comb-thresh spends most passes on longer sentences",
            *("comb_thresh", ("mask_predict", "fixed_k", "thresh"), _LONG),
        ),
        (
            "thresh spends fewer passes on longer sentences than fixed T",
            *("mask_predict", ("thresh",), _LONG),
        ),
    ):
        if unmeasured := _unmeasured(systems, more, *less):
            yield claim, NOT_DECIDED, unmeasured
            continue
        means = {name: _mean_passes(systems[name], span) for name in (more, *less)}
        if not all(mean.mean for mean in means.values()):
            yield claim, NOT_DECIDED, "no sentence is so long"
            continue
        verdict = all_of([apart(means[more], means[name]).verdict for name in less])
        shown = ", ".join(f"{k} {m:.2f} ± {h:.2f}" for k, (m, h) in means.items())
        yield claim, verdict, f"{shown.replace('_', '-')} passes on average"


def _mean_passes(frame: pd.DataFrame, span: tuple[int, int]) -> Difference:
    """Returns the mean over all sentences of some lengths, against 0."""
    frame = frame[frame.first_length.between(*span)]
    total = max(frame["count"].sum(), 1)
    mean = (frame["count"] * frame["mean"]).sum() / total
    return Difference(mean, half_interval(frame["count"], frame["std"]))


def _close(claim: str, x_name: str, result: Result) -> Iterator[Judged]:
    """Judges whether speeds on two texts are close, by the paper's two numbers.

    These are of speeds from 1 to 11; faster ones do not count. The deviation of the
    errors is no interval: they are of one pair of texts.
    """
    claim += f" ({MEAN_ERROR:g} on average, {LARGEST_ERROR:g} at most)"
    systems = _groups(result["rows"])
    if unmeasured := _unmeasured(systems, "comb_thresh"):
        yield claim, NOT_DECIDED, unmeasured
        return
    rows = systems["comb_thresh"]
    rows = rows[rows[x_name].round() <= SPEEDS[-1]]
    if rows.empty:
        yield claim, NOT_DECIDED, f"all are faster than {SPEEDS[-1]:g}"
        return
    mean, largest, speeds = rows.error.mean(), rows.error.max(), rows[x_name]
    close = mean <= MEAN_ERROR and largest <= LARGEST_ERROR
    numbers = f"error {mean:.2f} on average, {largest:.2f} at most"
    numbers += f", at {speeds.min():.1f} to {speeds.max():.1f} tokens/iteration"
    if len(rows) > 1:
        numbers += f"; standard deviation {rows.error.std():.2f}"
        numbers += f" over {len(rows)} speeds"
    for text, number in result["lines"].items():
        numbers += f"{';' if text == 'dev' else ','} {number} lines of {text}"
    yield claim, HOLDS if close else FAILS, numbers


def _probabilities(result: Result) -> Iterator[Judged]:
    frame = pd.DataFrame(result["rows"])
    ranks = frame[(frame.temperature == 1.0) & frame.group.str.startswith("rank")]
    errors = {}
    for row in ranks.itertuples():
        counts, _, shares = np.array(row.bins).T
        half = half_interval(counts, np.sqrt(shares * (1 - shares)))
        errors[row.group] = Difference(100 * row.ece, 100 * half)
    first, *_, last = errors.values()
    shown = (f"{k}: {ece:.1f} ± {half:.1f} %" for k, (ece, half) in errors.items())
    claim = "probabilities of low ranks are worse calibrated"
    yield claim, apart(last, first).verdict, f"ECE {', '.join(shown)}"


def _temperature(result: Result) -> Iterator[Judged]:
    """Judges what temperature scaling helps, where it made calibration better."""
    systems, fitted = _groups(result["rows"]), result["temperature"]
    before, after = (100 * result["ece"][when] for when in ("before", "after"))
    calibration = f"ECE on test {before:.1f} % without, {after:.1f} % with temperature"
    calibration += f" {fitted:g}"
    for system, name in (("comb_thresh", "comb"), ("fcomb_thresh", "fcomb")):
        claim = f"better calibrated probabilities help {name}-thresh"
        by_value = _groups(systems[system], "temperature")
        if fitted == 1.0:
            yield claim, NOT_DECIDED, "the fitted temperature is 1: nothing changes"
        elif after >= before:
            yield claim, NOT_DECIDED, f"not better calibrated: {calibration}"
        else:
            _, verdict, numbers = judge_gain(claim, by_value[fitted], by_value[1.0])
            yield claim, verdict, f"{numbers}; {calibration}"


_JUDGES: dict[str, Callable[[Result], Iterator[Judged]]] = {
    "tradeoff": _tradeoff,
    "strategies": _strategies,
    "passes": _passes,
    "lengths": _lengths,
    "dev_test": partial(_close, "dev and test speed are close", "dev"),
    "promises": partial(
        _close, "speeds promised from dev are kept on test", "promised"
    ),
    "probabilities": _probabilities,
    "temperature": _temperature,
}
