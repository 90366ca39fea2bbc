import os

import pytest

from cmlm_tf.utils.xla_flags import prefer_xla_flag


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "--xla_a=1"),
        ("--xla_b='2  3' --xla_ab", "--xla_b='2  3' --xla_ab --xla_a=1"),
        ("--xla_b=2 --xla_a=0", "--xla_b=2 --xla_a=0"),
        ("--xla_a", "--xla_a"),
        ("flags.txt", "flags.txt"),
    ],
)
def test_what_the_user_set_stays(monkeypatch, before, after):
    monkeypatch.setenv("XLA_FLAGS", before)
    prefer_xla_flag("--xla_a=1")
    prefer_xla_flag("--xla_a=1")
    assert os.environ["XLA_FLAGS"] == after
