"""Folders that one run at a time may write."""

import os
from pathlib import Path

import pytest

from cmlm_tf.errors import UserError
from cmlm_tf.training.run_folder import exclusive_folder


def test_a_second_run_is_kept_out_until_the_first_ends(tmp_path):
    folder = tmp_path / "run"
    with (
        exclusive_folder(folder),
        pytest.raises(UserError, match="run: another run is writing"),
        exclusive_folder(folder),
    ):
        pass
    with exclusive_folder(folder):
        assert list(folder.iterdir()) == []


def test_a_name_that_is_not_utf8_is_refused_before_anything_is_made(tmp_path):
    folder = tmp_path / os.fsdecode(b"run\xff")
    with pytest.raises(UserError, match="not UTF-8"), exclusive_folder(Path(folder)):
        pass
    assert list(tmp_path.iterdir()) == []
