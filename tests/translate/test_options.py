"""Tests of cmlm_tf.translate.options."""

import pytest

from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.errors import UserError
from cmlm_tf.translate.options import UnmaskingOptions


@pytest.mark.parametrize("name", HEURISTICS)
def test_a_rule_has_its_own_setting_by_default(name):
    assert UnmaskingOptions(name).setting == HEURISTICS[name].default


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"setting": "a"}, "comb_thresh: tau must be from 0 to 1, not 'a'"),
        ({"heuristic": ["thresh"]}, r"heuristic must be one of .*, not \['thresh'\]"),
        ({"strategy": [1]}, r"strategy must be one of .*, not \[1\]"),
        ({"length_beam": "5"}, "length_beam must be at least 1 .*, not '5'"),
        ({"length_beam": None}, "length_beam must be at least 1 .*, not None"),
        ({"max_iterations": 2.5}, "max_iterations must be at least 1 .*, not 2.5"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_in_one_line(options, message):
    with pytest.raises(UserError, match=f"^{message}$"):
        UnmaskingOptions(**options)
