"""Tests of cmlm_tf.evaluation.table."""

from cmlm_tf.evaluation.table import QualitySpeedRow, format_table

_ROWS = [
    QualitySpeedRow("teacher", "beam 5", 27.6, bleu_ci=0.5, sentences_per_second=3.0),
    QualitySpeedRow("comb_thresh", "tau=0.5", 9.25, 0.25, None, 3.5, 4.0, 0.75, 120.0),
]


def test_format_table():
    assert format_table(_ROWS) == "\n".join(
        [
            "| system      | setting |  BLEU |    ± | tokens/iteration | selected "
            "| summed | sentences/s |",
            "|:------------|:--------|------:|-----:|-----------------:|---------:"
            "|-------:|------------:|",
            "| teacher     | beam 5  | 27.60 | 0.50 |                - |        - "
            "|      - |        3.00 |",
            "| comb_thresh | tau=0.5 |  9.25 | 0.25 |             3.50 |     4.00 "
            "|   0.75 |      120.00 |",
        ]
    )


def test_zero_is_a_value_and_no_rows_are_no_table():
    table = format_table([QualitySpeedRow("thresh", "tau=0", 0.0, chrf=0.0)])
    assert table.splitlines()[-1] == "| thresh | tau=0   | 0.00 | 0.00 |"
    assert format_table([]) == ""
