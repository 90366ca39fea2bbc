"""Rates of faults against counts by hand."""

import pytest

from cmlm_tf.evaluation.faults import FaultRates, fault_rates


def test_counts_by_hand():
    outputs = ["a a a b", "", "  ", "c\tc", "d e d e", "x y z"]
    references = ["a b", "a", "", "c d", "d e", "x yy z"]
    rates = fault_rates(outputs, references, "de", ["a a  a b", "q", "", "r", "s", "t"])
    # Neighbours: 3 of "a a a b", 1 of "c c", 3 of "d e d e", 2 of "x y z".
    assert rates.repeated == 3 / 9
    # Of five lines whose reference is not blank.
    assert rates.empty == 1 / 5
    # 4 characters for 2 are just twice as many.
    assert rates.far_length == 0.0
    # The third source is blank; blanks inside do not count.
    assert rates.copied == 1 / 5


@pytest.mark.parametrize(
    ("output", "is_far"),
    [("abc", True), ("ab cd", False), ("a" * 16, False), ("a" * 17, True)],
)
def test_far_is_over_twice_or_under_half(output, is_far):
    assert fault_rates([output], ["abcd efgh"], "en").far_length == float(is_far)


def test_chinese_repeats_are_of_characters():
    rates = fault_rates(["狗狗看 看猫"], ["狗看猫"], "zh")
    assert rates.repeated == 2 / 4


def test_nothing_to_count():
    assert fault_rates([""], [""], "en", [""]) == FaultRates(0.0, 0.0, 0.0, 0.0)
    assert fault_rates([], [], "en") == FaultRates(0.0, 0.0, 0.0, None)


def test_as_many_of_each():
    with pytest.raises(ValueError):
        fault_rates(["a"], ["a", "b"], "en")
    with pytest.raises(ValueError):
        fault_rates(["a"], ["a"], "en", ["a", "b"])
