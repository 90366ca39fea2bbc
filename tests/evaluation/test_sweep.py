"""Rows of a sweep, and what is decoded before the clock runs."""

from unittest import mock

import pytest

from cmlm_tf.evaluation.sweep import Sweep
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from cmlm_tf.translate.results import Translation

_LINES = [f"line {i}" for i in range(20)]


@pytest.mark.parametrize(("xla", "warm_up"), [(False, 8), (True, 20)])
def test_each_kind_of_graph_is_warmed_up_once(xla, warm_up):
    translator = mock.Mock(xla=xla)
    translator.translate = mock.Mock(
        side_effect=lambda lines, _: [Translation.join([]) for _ in lines]
    )
    sweep = Sweep(translator, _LINES, _LINES)
    for options in (
        UnmaskingOptions("fixed_k", 2),
        UnmaskingOptions("fixed_k", 3),
        UnmaskingOptions("comb_thresh", 0.1),
        BeamOptions(beam_size=5),
        BeamOptions(beam_size=1),
    ):
        sweep.measure(options)
    sizes = [len(call.args[0]) for call in translator.translate.call_args_list]
    assert sizes == [warm_up, 20, 20, warm_up, 20, warm_up, 20, warm_up, 20]
