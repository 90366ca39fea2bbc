"""The graph finds the settings that the calibration does."""

import dataclasses
import math

import numpy as np
import pytest
import tensorflow as tf

from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.serving.requests import option_defaults, read_request
from cmlm_tf.serving.speed_tables import find_settings, servable
from cmlm_tf.translate.calibration import Point, SpeedTable


def table(heuristic, points, beam=5, lines=300):
    points = tuple(Point(*point) for point in points)
    return SpeedTable(heuristic, "update_masked_sub", beam, False, points, lines, "")


TABLES = [
    table("fixed_k", [(1.0, 1), (1.8, 2), (2.6, 3)]),
    table("comb_thresh", [(1.1, 0.9), (2.0, 0.3), (4.0, 0.01)]),
    table("comb_thresh", [(1.5, 0.5), (3.0, 0.1)], beam=1),
    table("comb_thresh", [(1.1, 0.9), (2.0, 0.3), (4.0, 0.01)], beam=3, lines=299),
]


def find(heuristic, beam, targets):
    settings, found = find_settings(
        TABLES,
        tf.constant(targets, tf.float32),
        tf.fill([len(targets)], list(HEURISTICS).index(heuristic)),
        tf.fill([len(targets)], beam),
    )
    return settings.numpy(), found.numpy().tolist()


def read(tables=TABLES, **given):
    given = {name: tf.constant([value]) for name, value in given.items()}
    request = read_request(tf.constant(1), option_defaults() | given, 24, tables)
    return request.settings.numpy().tolist()


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_settings_are_those_that_the_table_promises(number):
    measured = TABLES[number]
    targets = np.linspace(*measured.span, 23).astype(np.float32)
    settings, found = find(measured.heuristic, measured.length_beam, targets)
    assert all(found)
    inside = np.clip(targets.astype(float), *measured.span)
    promised = [measured.promise(target).setting for target in inside]
    np.testing.assert_allclose(settings, promised, rtol=1e-3)


def test_what_is_not_calibrated_is_not_found():
    for heuristic, beam, targets in (
        ("comb_thresh", 5, [1.0, 4.1, math.nan]),
        ("comb_thresh", 2, [2.0]),
        ("thresh", 5, [2.0]),
    ):
        assert not any(find(heuristic, beam, targets)[1])
    assert find("comb_thresh", 1, [3.0])[0] == pytest.approx(0.1)


def test_a_request_gives_a_speed_or_a_setting():
    assert read(heuristic="fixed_k", target_speedup=1.9) == [2.0]
    for none in (math.nan, 0.0, -0.0):
        assert read(setting=0.25, target_speedup=none) == [0.25]
    for none in (math.nan, -1.0):
        assert read(setting=none, target_speedup=2.0) == pytest.approx([0.3])


@pytest.mark.parametrize(
    ("given", "tables", "message"),
    [
        ({}, TABLES, "calibrated only for fixed_k with length_beam 5 from 1.00 to"),
        ({"heuristic": "thresh"}, TABLES, "calibrated only for fixed_k"),
        ({"length_beam": 2}, TABLES, "calibrated only for fixed_k"),
        ({}, (), "the model was not"),
        ({"setting": 0.1}, TABLES, "give it or setting, not both"),
    ],
)
def test_a_speed_that_cannot_be_promised_is_refused(given, tables, message):
    speed = 2.0 if given else 9.0
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=f"target_speedup: {message}"
    ):
        read(tables, target_speedup=speed, **given)


def test_the_speeds_that_a_refusal_names_are_accepted():
    tables = [table("comb_thresh", [(1.92398, 0.5), (10.897, 0.1)])]
    for speed in (1.92, 10.9):
        with pytest.raises(tf.errors.InvalidArgumentError, match="1.93 to 10.89"):
            read(tables, target_speedup=speed)
    for speed in (1.93, 10.89):
        read(tables, target_speedup=speed)


def test_tables_of_other_ways_to_decode_are_left_out():
    others = [
        dataclasses.replace(TABLES[0], strategy="update_all"),
        dataclasses.replace(TABLES[0], drop_losing_candidates=True),
    ]
    assert servable([*others, *TABLES]) == TABLES
