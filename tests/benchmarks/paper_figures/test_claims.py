"""Claims are judged by their rules, on figures written here."""

import statistics

import pandas as pd
import pytest

from benchmarks.paper_figures.claims import findings
from benchmarks.paper_figures.compare import judge_gain

LINES = {"dev": 60, "test": 50}
HOLDS, FAILS, NOT_DECIDED = "holds", "fails", "not decided"


def _row(bleu, half=0.1, sign=1, **more):
    """A row whose BLEU has a bootstrap interval of half this width.

    Of two systems of one sign no difference varies; of two signs, as their sum does.
    """
    change = sign * half / 1.96 / 2**0.5
    return {"bleu": bleu, "resampled": [bleu + change, bleu - change], **more}


def _line(points, half=0.1, sign=1, **more):
    """Rows whose selected candidates take half of the slowest ones' passes."""
    return [
        _row(bleu, half, sign, slowest=speed, selected=2 * speed, **more)
        for speed, bleu in points
    ]


def _verdicts(**results):
    return findings(results).here.tolist()


def _tradeoff(half, last_speed=8.0):
    """fixed K and fcomb-thresh vary otherwise than the rest: intervals add up."""
    rows = _line([(0.9, 30.2)], half, -1, setting="beam 5", system="teacher")
    for system, bleu, sign in (
        ("mask_predict", 28.0, 1),
        ("fixed_k", 29.0, -1),
        ("comb_thresh", 30.0, 1),
        ("thresh", 29.95, -1),
        ("fcomb_thresh", 30.5, -1),
    ):
        points = [(1.0, bleu), (last_speed, bleu)]
        rows += _line(points, half, sign, setting="x", system=system)
    return {"rows": rows}


def test_trade_off():
    verdicts = [HOLDS, HOLDS, NOT_DECIDED, FAILS, HOLDS]
    assert _verdicts(tradeoff=_tradeoff(0.03)) == verdicts * 2
    # A loss of 0.2 ± 0.12 can be 0.3.
    assert _verdicts(tradeoff=_tradeoff(0.06)) == [*verdicts[:-1], NOT_DECIDED] * 2
    assert _verdicts(tradeoff=_tradeoff(1.0)) == [NOT_DECIDED] * 10
    # By the selected candidates' passes all are twice as fast.
    found = findings({"tradeoff": _tradeoff(0.03, 3.0)})
    assert found.here[4] == NOT_DECIDED and found.here[9] == HOLDS
    assert found.numbers[4].endswith("1.00 to 3.00")
    assert found.numbers[0].endswith(" from 1 to 3 tokens/iteration")
    assert found.numbers[5].endswith(" from 2 to 6 tokens/iteration")


def test_bleu_is_compared_at_equal_speed_by_a_paired_bootstrap():
    """By hand at 2, 2.25, ..., 3; more settings of one count no more."""
    line = [(1.0, 30.0, [31.0, 29.0, 31.0]), (3.0, 28.0, [29.0, 29.0, 29.0])]
    flat = [(x, 27.0, [27.0, 26.0, 25.0]) for x in (2.0, 2.1, 2.2, 5.0)]
    names = ["slowest", "bleu", "resampled"]
    sides = [pd.DataFrame(points, columns=names) for points in (line, flat)]
    # On average 28.5 - 27, and in the resamples 29.5, 29, 29.5 - 27, 26, 25: 2.5, 3
    # and 4.5, whose standard deviation is 1.04.
    half = 1.96 * statistics.stdev([2.5, 3.0, 4.5])
    _, verdict, numbers = judge_gain("", *sides)
    assert verdict == NOT_DECIDED
    assert numbers.startswith(f"+1.50 ± {half:.2f} BLEU on average from 2 to 3 tokens")
    far = pd.DataFrame([(4.0, 9.0, [9.0, 9.0])], columns=names)
    assert judge_gain("", sides[0], far)[1:] == (NOT_DECIDED, "no common speed")


@pytest.mark.parametrize(
    ("sub", "every", "half", "verdicts"),
    [
        (26.95, 25.0, 0.02, [HOLDS, HOLDS]),
        (26.95, 25.0, 0.2, [NOT_DECIDED, HOLDS]),
        (26.5, 25.0, 0.1, [FAILS, HOLDS]),
        (27.5, 25.0, 5.0, [NOT_DECIDED, NOT_DECIDED]),
        # Behind one of the two only.
        (26.0, 26.5, 0.1, [FAILS, FAILS]),
    ],
)
def test_strategies(sub, every, half, verdicts):
    """Two beams of 50 BLEU more do not count; there are three wider ones."""
    signs = {"update_all": 1, "update_masked": -1, "update_masked_sub": 1}
    values = {"update_all": every, "update_masked": 27.0, "update_masked_sub": sub}
    rows = [
        _row(bleu + 50 * (b < 3), half, signs[system] * (1 if b < 3 else 1))
        | {"system": system, "length_beam": b}
        for system, bleu in values.items()
        for b in range(1, 6)
    ]
    if half == 5.0:
        for row in rows[-5:]:  # update-masked-sub varies otherwise than update-all
            row["resampled"].reverse()
            row["resampled"][0] += 20
    assert _verdicts(strategies={"rows": rows}) == verdicts
    narrow = [row for row in rows if row["length_beam"] < 3]
    assert _verdicts(strategies={"rows": narrow}) == [NOT_DECIDED] * 2


@pytest.mark.parametrize(("half", "verdict"), [(1.5, HOLDS), (2.0, NOT_DECIDED)])
def test_passes_count_the_end_for_all_later_ones(half, verdict):
    rows = [
        _row(bleu, half, sign, system=system, target=3.5, iteration=number)
        for system, sign, line in (
            ("comb_thresh", 1, [20, 30]),
            ("fixed_k", -1, [20, 24, 26]),
        )
        for number, bleu in enumerate(line, start=1)
    ]
    found = findings({"passes": {"rows": rows}})
    assert found.here.tolist() == [verdict]
    assert found.numbers[0].startswith("+3.33 ± ")  # 0, 6 and 30 - 26


def test_lengths():
    def rows(system, short, long, std=0.5):
        return [
            {"system": system, "first_length": first, "count": 100, "mean": mean}
            | {"std": std}
            for first, mean in ((1, short), (26, short), (31, long))
        ]

    fixed = rows("mask_predict", 4, 4, 0.0)
    result = fixed + rows("fixed_k", 3, 8)
    result += rows("thresh", 3, 5) + rows("comb_thresh", 3.5, 9)
    assert _verdicts(lengths={"rows": result}) == [HOLDS, HOLDS, FAILS]
    # One of the three is not fewer for sure; thresh is fewer than fixed T.
    result = fixed + rows("fixed_k", 3, 8)
    result += rows("thresh", 3, 3) + rows("comb_thresh", 3.95, 8.05)
    verdicts = [NOT_DECIDED, NOT_DECIDED, HOLDS]
    assert _verdicts(lengths={"rows": result}) == verdicts
    short = [row for row in result if row["first_length"] < 31]
    assert _verdicts(lengths={"rows": short}) == [NOT_DECIDED] * 3


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [((0.0, 0.6), HOLDS), ((0.2, 0.42), FAILS), ((0.0, 0.0, 0.81), FAILS)],
)
@pytest.mark.parametrize(
    ("name", "x_name"), [("dev_test", "dev"), ("promises", "promised")]
)
def test_promised_and_measured_speed(name, x_name, errors, verdict):
    """Faster than 11 is beyond the paper's claim; the other system does not count."""
    rows = [
        {"system": "comb_thresh", x_name: float(speed), "error": error}
        for speed, error in enumerate(errors, start=2)
    ]
    rows.append({"system": "comb_thresh", x_name: 12.0, "error": 5.0})
    rows.append({"system": "fixed_k", x_name: 3.0, "error": 5.0})
    found = findings({name: {"rows": rows, "lines": LINES}})
    assert found.here.tolist() == [verdict]
    assert f"at 2.0 to {len(errors) + 1}.0 tokens" in found.numbers[0]
    spread = f"{statistics.stdev(errors):.2f} over {len(errors)} speeds"
    assert f"; standard deviation {spread}; " in found.numbers[0]
    assert found.numbers[0].endswith("; 60 lines of dev, 50 lines of test")


@pytest.mark.parametrize(("count", "verdict"), [(10000, HOLDS), (100, NOT_DECIDED)])
def test_probabilities(count, verdict):
    """Of 10000 the interval is 0.98 %, of 100 it is 9.8 %."""
    rows = [
        {"temperature": t, "group": group, "ece": ece}
        | {"bins": [[count, 0.5 + ece, 0.5]]}
        for t, group, ece in (
            (1.0, "all", 0.1),
            (1.0, "rank 1", 0.05),
            (1.0, "ranks 9 to 16", 0.1),
            (1.2, "rank 1", 0.5),
        )
    ]
    assert _verdicts(probabilities={"rows": rows}) == [verdict]


def test_temperature():
    rows = []
    for system, gained in (("comb_thresh", 0.05), ("fcomb_thresh", 0.5)):
        for t, bleu, sign in ((1.0, 30.0, 1), (1.2, 30.0 + gained, -1)):
            points = [(1.0, bleu), (4.0, bleu)]
            rows += _line(points, sign=sign, system=system, temperature=t)
    result = {"rows": rows, "temperature": 1.2, "ece": {"before": 0.1, "after": 0.05}}
    better = findings({"temperature": result})
    assert better.here.tolist() == [NOT_DECIDED, HOLDS]
    assert better.numbers[1].startswith("+0.50 ± 0.20 BLEU")
    ece = "ECE on test 10.0 % without, {} % with temperature 1.2"
    assert better.numbers[1].endswith(f"; {ece.format('5.0')}")
    for change, why_not in (
        ({"temperature": 1.0}, "the fitted temperature is 1: nothing changes"),
        # Worse on test: that says nothing of better calibrated probabilities.
        (
            {"ece": {"before": 0.1, "after": 0.12}},
            f"not better c.*{ece.format('12.0')}",
        ),
    ):
        found = findings({"temperature": result | change})
        assert found.here.tolist() == [NOT_DECIDED] * 2
        assert found.numbers.str.fullmatch(why_not).all()


def test_what_is_not_there_is_not_judged():
    assert findings({}).empty
    rows = [{"system": "fixed_k", "promised": 3.0, "error": 0.1}]
    row = {"first_length": 1, "count": 100, "mean": 3.0, "std": 0.5}
    step = _row(9.0, system="fixed_k", target=5.0, iteration=1)
    found = findings(
        {
            "passes": {"rows": [step]},
            "lengths": {"rows": [row | {"system": "mask_predict"}]},
            "promises": {"rows": rows, "lines": LINES},
        }
    )
    assert found.here.tolist() == [NOT_DECIDED] * 5
    assert found.numbers[3] == "not measured: thresh"
    assert found.numbers[4] == "not measured: comb-thresh"
