"""Which claims on the model's own probabilities hold; see `claims`."""

from cmlm_tf.evaluation.figures.compare import (
    NOT_DECIDED,
    Judged,
    Results,
    Row,
    Scores,
    difference,
    half_interval,
    judge_gain,
)


def probabilities(results: Results) -> list[Judged]:
    """Judges what is claimed of probabilities by rank."""
    ranks = [
        row
        for row in results["probabilities"]["rows"]
        if row["temperature"] == 1.0 and row["group"].startswith("rank")
    ]

    def error(row: Row) -> Scores:
        bins = ((n, max(p * (1 - p), 0.0) ** 0.5) for n, _, p in row["bins"])
        return Scores(100 * row["ece"], 100 * half_interval(bins))

    claim = "probabilities of low ranks are worse calibrated"
    verdict = difference(error(ranks[-1]), error(ranks[0])).verdict
    errors = ((row["group"], *error(row)) for row in ranks)
    shown = (f"{name}: {ece:.1f} ± {half:.1f} %" for name, ece, half, _ in errors)
    return [(claim, verdict, f"ECE {', '.join(shown)}")]


def temperature(results: Results) -> list[Judged]:
    """Judges what temperature scaling helps, where it made calibration better."""
    result = results["temperature"]
    fitted = result["temperature"]
    why_not, calibration = _calibration(results, fitted)
    found = []
    for system, name in (("comb_thresh", "comb"), ("fcomb_thresh", "fcomb")):
        claim = f"better calibrated probabilities help {name}-thresh"
        if why_not:
            found.append((claim, NOT_DECIDED, why_not))
            continue
        scaled, plain = ({"system": system, "temperature": t} for t in (fitted, 1))
        _, verdict, numbers = judge_gain(claim, result["rows"], scaled, plain)
        found.append((claim, verdict, f"{numbers}; {calibration}"))
    return found


def _calibration(results: Results, fitted: float) -> tuple[str, str]:
    """Tells why a temperature makes nothing better calibrated, if so, and its ECE."""
    if fitted == 1.0:
        return "the fitted temperature is 1: nothing changes", ""
    rows = results.get("probabilities", {"rows": ()})["rows"]
    errors = {row["temperature"]: row["ece"] for row in rows if row["group"] == "all"}
    if not {1.0, fitted} <= errors.keys():
        return "calibration on test is in the figure probabilities: not measured", ""
    before, after = 100 * errors[1.0], 100 * errors[fitted]
    numbers = f"ECE on test {before:.1f} % without, {after:.1f} % with temperature"
    numbers += f" {fitted:g}"
    return (f"not better calibrated: {numbers}" if after >= before else ""), numbers
