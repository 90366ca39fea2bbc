"""Tests of cmlm_tf.utils.progress."""

import pytest
from absl import logging

from cmlm_tf.utils import progress as progress_lib
from cmlm_tf.utils.progress import Progress, progress


@pytest.fixture
def lines(monkeypatch):
    """Collects what would be logged."""
    logged = []
    monkeypatch.setattr(logging, "info", lambda text, *args: logged.append(text % args))
    return logged


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is told to move."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(progress_lib, "time", clock)
    return clock


def test_yields_every_item_in_order(lines):
    assert list(progress(iter("abc"), 3, "letters", "reading")) == ["a", "b", "c"]
    assert len(lines) == 1
    assert lines[0].startswith("reading: 3 letters, ")


def test_logs_every_interval_with_rate_and_time_left(lines, clock):
    counter = Progress(10_000, "lines", "translating")
    counter.advance(100)
    clock.now += 29.0
    counter.advance(100)
    assert lines == []
    clock.now += 1.0
    counter.advance(100)
    assert lines == [
        "translating: 300 lines, 10.0/s, 10000 in all, 0:16:10 left",
    ]
    clock.now += 10.0
    counter.advance(100)
    assert len(lines) == 1
    counter.close()
    assert lines[1].startswith("translating: 400 lines, 10.0/s")


@pytest.mark.parametrize(
    ("total", "done", "line"),
    [
        (100, 50, "reading: 60 lines, 1.0/s, 100 in all, 0:00:40 left"),
        (None, 0, "reading: 10 lines, 1.0/s"),
    ],
)
def test_resumed_work_and_work_of_unknown_length(lines, clock, total, done, line):
    counter = Progress(total, "lines", "reading", done)
    clock.now += 10.0
    counter.advance(10)
    counter.close()
    assert lines == [line]


def test_work_that_fails_still_ends_the_display(lines):
    with pytest.raises(ValueError):
        for _ in progress([1, 2], 2, "items", "failing"):
            raise ValueError
    assert len(lines) == 1


def test_bar_on_a_terminal(lines, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert list(progress([1, 2], 2, "items", "counting")) == [1, 2]
    captured = capsys.readouterr()
    assert "counting" in captured.err and "2/2" in captured.err
    assert captured.out == ""
    assert lines == []
