"""Finished points are kept, whole and under their own key."""

import json
import time
from unittest import mock

import pytest

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures import points
from cmlm_tf.evaluation.figures.points import PointStore

KEY = {"kind": "quality", "setting": 0.1}


def test_a_point_is_measured_once(tmp_path):
    calls = []

    def measure():
        calls.append(1)
        return {"bleu": 30.5}

    for store in (PointStore(tmp_path), PointStore(tmp_path)):
        for _ in range(2):
            assert store.get(KEY, measure) == {"bleu": 30.5}
    assert len(calls) == 1
    assert len(list(tmp_path.iterdir())) == 1
    store.get(KEY | {"setting": 0.2}, measure)
    assert len(calls) == 2


def test_a_failed_point_leaves_nothing(tmp_path):
    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        PointStore(tmp_path).get(KEY, fail)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"key": {}, "result": {}}', "{}", '{"key": 1, "result": []}'],
)
def test_a_damaged_point_is_named(tmp_path, text):
    PointStore(tmp_path).get(KEY, lambda: {"bleu": 1.0})
    (path,) = tmp_path.iterdir()
    path.write_text(text)
    with pytest.raises(UserError, match=str(path)):
        PointStore(tmp_path).get(KEY, lambda: {"bleu": 2.0})


def test_a_field_that_is_missing_or_wrong_is_named(tmp_path):
    shape = {"bleu": float}
    PointStore(tmp_path).get(KEY, lambda: {"bleu": 1.0})
    (path,) = tmp_path.iterdir()
    content = json.loads(path.read_text())
    for result, fault in (
        ({}, "result.bleu: is missing"),
        ({"bleu": "much"}, "result.bleu: must be a number"),
        ([], "result: must be an object"),
    ):
        path.write_text(json.dumps(content | {"result": result}))
        with pytest.raises(UserError) as error:
            PointStore(tmp_path).get(KEY, lambda: {"bleu": 2.0}, shape)
        assert str(error.value) == f"{path}: {fault}"


def test_the_log_says_how_many_points_there_are(tmp_path):
    store = PointStore(tmp_path)
    store.begin("tradeoff")
    store.expected = 3
    with mock.patch.object(points.logging, "info") as info:
        for number in range(3):
            store.get(KEY | {"setting": number}, dict)
        store.begin("promises")
        store.get(KEY | {"setting": 2}, dict)
        store.get(KEY | {"setting": 3}, dict)
    places = [call.args[1] for call in info.call_args_list]
    assert places == [f"tradeoff: point {n} of 3" for n in (1, 2, 3)] + [
        "promises: point 2 of as many as the search takes"
    ]


def test_when_the_time_is_up_old_points_are_still_there(tmp_path):
    PointStore(tmp_path).get(KEY, lambda: {"bleu": 1.0})
    store = PointStore(tmp_path, deadline=time.monotonic() - 1.0)
    assert store.get(KEY, lambda: {"bleu": 2.0}) == {"bleu": 1.0}
    with pytest.raises(UserError, match="time is up after 0 new points"):
        store.get(KEY | {"setting": 1}, lambda: {"bleu": 2.0})


def test_what_is_written(tmp_path):
    PointStore(tmp_path).get(KEY, lambda: {"bleu": 1.0})
    (path,) = tmp_path.iterdir()
    content = json.loads(path.read_text())
    assert content["key"] == KEY and content["result"] == {"bleu": 1.0}
    assert content["seconds"] >= 0
