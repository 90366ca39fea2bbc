"""Training and distillation under kill -9: what comes out is as if undisturbed."""

import random
import time

import numpy as np
import pytest

from benchmarks.killing import (
    compare,
    kill_and_compare,
    read_files,
    read_run,
    run_until_killed,
)
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.errors import UserError
from cmlm_tf.training.distillation import distill_corpus
from cmlm_tf.training.trainer import train
from tests.training.small_run import small_config, write_corpus


def upper_case(lines):
    time.sleep(0.02)
    return [line.upper() for line in lines]


def distill_by_upper_case(corpus, output):
    distill_corpus(open_corpus(corpus), upper_case, output, {"a": 1}, 5)


def seconds_of(run, *args):
    start = time.monotonic()
    assert not run_until_killed(run, args, None)
    return time.monotonic() - start


@pytest.mark.parametrize("what", ["training", "distillation"])
def test_killed_runs_end_as_the_undisturbed(tmp_path, what):
    whole = tmp_path / what
    if what == "training":
        run, config, read, kills = train, small_config(tmp_path), read_run, 2
        config.training.checkpoint_every = 1
    else:
        run, config = distill_by_upper_case, write_corpus(tmp_path, 200)
        read, kills = read_files, 3
    longest = seconds_of(run, config, whole)
    found = kill_and_compare(run, config, whole, read, kills, random.Random(1), longest)
    assert found.runs >= 1
    assert found.largest_difference == 0.0


def test_a_process_that_fails_is_told(tmp_path):
    with pytest.raises(UserError, match="ended with 1"):
        run_until_killed(distill_by_upper_case, ("files:no", tmp_path / "out"), None)


def test_numbers_may_differ_within_the_tolerance_and_texts_may_not(tmp_path):
    expected = {"weights": np.array([1.0, 2.0]), "text": "a"}
    near = {"weights": np.array([1.0, 2.25]), "text": "a"}
    assert compare(expected, expected, tmp_path, 0.0) == 0.0
    assert compare(expected, near, tmp_path, 0.25) == 0.25
    for found, tolerance in (
        (near, 0.2),
        (expected | {"text": "b"}, 1.0),
        (expected | {"weights": np.array([1.0, np.nan])}, 1.0),
        (expected | {"weights": np.array([1.0])}, 1.0),
        (expected | {"weights": "a"}, 1.0),
        (expected | {"weights": np.array([1.0, 2.0], np.float32)}, 1.0),
        ({"text": "a"}, 1.0),
    ):
        with pytest.raises(UserError):
            compare(expected, found, tmp_path, tolerance)
