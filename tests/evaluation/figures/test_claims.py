"""Claims are judged by their rules, on figures written here."""

import pytest

from cmlm_tf.evaluation.figures.claims import findings, gain


def _line(system, points, **more):
    return [
        {"system": system, "slowest": speed, "bleu": bleu, **more}
        for speed, bleu in points
    ]


def _verdicts(**results):
    return [(finding.claim, finding.verdict) for finding in findings(results)]


def test_bleu_is_compared_at_equal_speed():
    """Both lines by hand at 2, 2.25, ..., 3; more settings of one count no more."""
    rows = _line("a", [(1.0, 30.0), (3.0, 28.0)])
    rows += _line("b", [(2.0, 27.0), (2.1, 27.0), (2.2, 27.0), (5.0, 27.0)])
    mean, low, high = gain(rows, {"system": "a"}, {"system": "b"})
    assert (low, high) == (2.0, 3.0)
    # a is at 29, 28.75, 28.5, 28.25, 28.
    assert mean == pytest.approx(28.5 - 27.0)
    with pytest.raises(ValueError, match="no common speed"):
        gain(rows[:2] + _line("c", [(4.0, 9.0)]), {"system": "a"}, {"system": "c"})


def test_trade_off():
    rows = [{"system": "teacher", "setting": "beam 5", "bleu": 30.2, "slowest": 0.9}]
    for system, bleu in (
        ("mask_predict", 28.0),
        ("fixed_k", 29.0),
        ("comb_thresh", 30.0),
        ("thresh", 29.95),
        ("fcomb_thresh", 30.5),
    ):
        rows += _line(system, [(1.0, bleu), (8.0, bleu)], setting="x")
    assert [verdict for _, verdict in _verdicts(tradeoff={"rows": rows})] == [
        "holds",
        "holds",
        "no difference",
        "fails",
        "holds",
    ]


def test_systems_without_a_common_speed_cannot_be_compared():
    rows = _line("comb_thresh", [(1.0, 9.0)], temperature=1.0)
    rows += _line("comb_thresh", [(3.0, 9.0)], temperature=1.2)
    rows += _line("fcomb_thresh", [(3.0, 9.0)], temperature=1.0)
    rows += _line("fcomb_thresh", [(3.0, 9.0)], temperature=1.2)
    verdicts = _verdicts(temperature={"rows": rows, "temperature": 1.2})
    assert [v for _, v in verdicts] == ["cannot be told", "no difference"]


def test_strategies():
    rows = [
        {"system": system, "length_beam": b, "bleu": bleu + (50 if b < 3 else 0)}
        for system, bleu in (
            ("update_all", 25.0),
            ("update_masked", 27.0),
            ("update_masked_sub", 26.95),
        )
        for b in range(1, 6)
    ]
    assert [v for _, v in _verdicts(strategies={"rows": rows})] == ["holds", "holds"]
    for row in rows:
        row["bleu"] += {"update_all": 3, "update_masked_sub": -1}.get(row["system"], 0)
    assert [v for _, v in _verdicts(strategies={"rows": rows})] == ["fails", "fails"]


def test_passes_count_the_end_for_all_later_ones():
    def rows(system, bleu):
        return [
            {"system": system, "target": 3.5, "iteration": i, "bleu": b}
            for i, b in enumerate(bleu, start=1)
        ]

    result = {"rows": rows("comb_thresh", [20, 30]) + rows("fixed_k", [20, 24, 26])}
    (finding,) = findings({"passes": result})
    assert finding.verdict == "holds"
    assert finding.numbers.startswith("+3.33 BLEU")  # 0, 6 and 30 - 26


def test_lengths():
    def rows(system, short, long):
        return [
            {"system": system, "first_length": first, "count": 2, "mean": mean}
            for first, mean in ((1, short), (26, short), (31, long))
        ]

    result = {
        "rows": rows("mask_predict", 4, 4)
        + rows("fixed_k", 3, 8)
        + rows("thresh", 3, 5)
        + rows("comb_thresh", 3.5, 9)
    }
    verdicts = [verdict for _, verdict in _verdicts(lengths=result)]
    assert verdicts == ["holds", "holds", "fails"]


@pytest.mark.parametrize(
    ("mean", "largest", "verdict"),
    [(0.3, 0.8, "holds"), (0.31, 0.5, "fails"), (0.1, 0.81, "fails")],
)
def test_dev_and_test_speed(mean, largest, verdict):
    errors = {"comb_thresh": {"mean": mean, "largest": largest}}
    assert _verdicts(dev_test={"errors": errors})[0][1] == verdict


def test_probabilities_and_temperature():
    rows = [
        {"temperature": t, "group": group, "ece": ece}
        for t, group, ece in (
            (1.0, "all", 0.1),
            (1.0, "rank from 1", 0.05),
            (1.0, "rank from 9", 0.2),
            (1.2, "rank from 1", 0.5),
        )
    ]
    assert _verdicts(probabilities={"rows": rows})[0][1] == "holds"
    lines = []
    for system, gained in (("comb_thresh", 0.05), ("fcomb_thresh", 0.5)):
        for t, bleu in ((1.0, 30.0), (1.2, 30.0 + gained)):
            lines += _line(system, [(1.0, bleu), (4.0, bleu)], temperature=t)
    verdicts = _verdicts(temperature={"rows": lines, "temperature": 1.2})
    assert [verdict for _, verdict in verdicts] == ["no difference", "holds"]
    assert _verdicts(temperature={"rows": lines, "temperature": 1.0}) == []


def test_figures_that_are_not_there_are_not_judged():
    assert findings({}) == []
