"""What a calibration promises, and what is no calibration."""

import dataclasses
import json
import math
import shutil

import numpy as np
import pytest

from cmlm_tf.decoding.heuristics import CombThresh
from cmlm_tf.errors import UserError
from cmlm_tf.translate.calibration import (
    CALIBRATION_FILE,
    Point,
    SpeedTable,
    check_replacement,
    load_calibration,
    rising_points,
    save_table,
)
from tests.tiny_models import model_dir

POINTS = (Point(1.5, 0.5), Point(3.0, 0.1), Point(6.0, 0.001))
NUMBERS = (Point(1.9, 2), Point(2.6, 3), Point(3.4, 4))


def table(heuristic="comb_thresh", points=POINTS, length_beam=5, num_lines=300):
    key = (heuristic, "update_masked_sub", length_beam, False)
    return SpeedTable(*key, tuple(points), num_lines, "0f")


#: Speed at tau, each falling in tau from about 1 to over 12.
CURVES = {
    "straight": lambda tau: 0.9 + 1.1 * -math.log(tau),
    "root": lambda tau: 0.9 + 3.0 * math.sqrt(-math.log(tau)),
    "saturating": lambda tau: 0.9 + 11.5 * (1 - math.exp(0.12 * math.log(tau))),
    "convex": lambda tau: 0.9 + (-math.log(tau)) ** 1.4,
}


@pytest.mark.parametrize("name", CURVES)
def test_a_dozen_settings_keep_the_promises_between_them(name):
    speed = CURVES[name]
    speeds = {tau: speed(tau) for tau in CombThresh.grid}
    measured = table(points=rising_points("comb_thresh", speeds))
    errors = [abs(speed(measured.promise(t).setting) - t) for t in range(2, 9)]
    assert max(errors) <= 0.1


def test_tau_between_points_is_where_the_root_of_minus_log_tau_is_halfway():
    root = (math.sqrt(-math.log(0.1)) + math.sqrt(-math.log(0.001))) / 2
    promise = table().promise(4.5)
    assert promise == (4.5, pytest.approx(math.exp(-(root**2))))


def test_faster_is_never_a_larger_tau():
    settings = [table().promise(1.5 + 0.05 * i).setting for i in range(91)]
    assert settings == sorted(set(settings), reverse=True)


@pytest.mark.parametrize(
    ("measured", "target", "promised"),
    [
        *((table(), point.speedup, point) for point in POINTS),
        (table(points=POINTS[:1]), 1.5, POINTS[0]),
        # Of few lines only measured speeds.
        (table(num_lines=299), 2.0, POINTS[0]),
        (table(num_lines=299), 2.5, POINTS[1]),
        (table(num_lines=299), 4.4, POINTS[1]),
        (table(num_lines=299), 5.0, POINTS[2]),
        (table("fixed_k", NUMBERS), 1.9, NUMBERS[0]),
        (table("fixed_k", NUMBERS), 2.0, NUMBERS[0]),
        (table("fixed_k", NUMBERS), 2.3, NUMBERS[1]),
        (table("fixed_k", NUMBERS), 3.4, NUMBERS[2]),
    ],
)
def test_the_nearest_measured_speed(measured, target, promised):
    assert measured.promise(target) == promised


@pytest.mark.parametrize(
    "measured",
    [
        table(),
        table(points=POINTS[:1]),
        table(num_lines=9),
        table("fixed_k", NUMBERS),
        table("mask_predict", [Point(2.0, 4), Point(4.0, 2)]),
    ],
)
def test_straight_lines_between_the_points_of_the_curve_are_the_promise(measured):
    speeds, settings = zip(*measured.curve(), strict=True)
    assert (speeds[0], speeds[-1]) == measured.span
    for target in np.linspace(*measured.span, 98):
        expected = measured.promise(target).setting
        assert np.interp(target, speeds, settings) == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("target", [1.49, 6.01, math.nan, math.inf, -1.0])
def test_a_speed_outside_names_the_range(target):
    message = "target_speedup must be from 1.50 to 6.00 for comb_thresh"
    with pytest.raises(UserError, match=message):
        table().promise(target)


@pytest.mark.parametrize(
    ("speeds", "limits"),
    [([1.92398, 10.897], "from 1.93 to 10.89"), ([1.234567], "1.234567")],
)
def test_the_range_that_is_named_is_inside(speeds, limits):
    points = [Point(v, t) for v, t in zip(speeds, (0.5, 0.1), strict=False)]
    for refused in (speeds[0] - 0.001, speeds[-1] + 0.001):
        with pytest.raises(UserError, match=f"must be {limits} for comb_thresh"):
            table(points=points).promise(refused)
    for named in limits.replace("from", "").split("to"):
        table(points=points).promise(float(named))


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(model_dir("student"), tmp_path / "model")


def test_tables_come_back_and_replace_their_like(folder):
    assert load_calibration(folder) is None
    other = table("fixed_k", NUMBERS)
    for stored in (table(points=POINTS[:2]), other, table()):
        save_table(folder, stored)
    calibration = load_calibration(folder)
    assert calibration.tables == (other, table())
    assert calibration.promise(3.0, "comb_thresh", 5) == Point(3.0, 0.1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("length_beam", 4),
        ("strategy", "update_all"),
        ("drop_losing_candidates", True),
        ("heuristic", "thresh"),
    ],
)
def test_another_way_of_decoding(folder, name, value):
    save_table(folder, table())
    line = f"{folder}/{CALIBRATION_FILE}: not calibrated for .*{name}={value}.* but for"
    with pytest.raises(UserError, match=line):
        load_calibration(folder).promise(
            3.0, **({"heuristic": "comb_thresh"} | {name: value})
        )


def _of_table(**fields):
    return lambda content: content["tables"][0].update(fields)


def _of_points(*points):
    return _of_table(points=[Point(*point)._asdict() for point in points])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("format"), "must hold format"),
        (lambda c: c.update(format=2), "format is 2, expected 1"),
        (lambda c: c.update(weights_sha256="00"), "weights_sha256 is '00', expected"),
        (lambda c: c.update(tables={}), "tables must be a list of one or more"),
        (lambda c: c.update(tables=[]), "tables must be a list of one or more"),
        (lambda c: c["tables"].append([]), r"tables\[1\]: must hold heuristic"),
        (lambda c: c["tables"][0].pop("points"), r"tables\[0\]: must hold heuristic"),
        (lambda c: c["tables"][0]["points"].append(3), "each of points speedup and"),
        (lambda c: c["tables"].append(c["tables"][0]), "tables: two are for heuristic"),
        (_of_table(length_beam=5.0), "length_beam must be of type int"),
        (_of_table(length_beam=0), "length_beam must be at least 1"),
        (_of_table(num_lines="9"), "num_lines must be of type int"),
        (_of_table(num_lines=0), "num_lines must be at least 1"),
        (_of_table(strategy="x"), "strategy must be one of"),
        (_of_table(heuristic="best"), "heuristic must be one of"),
        (_of_table(heuristic="fixed_k"), "tokens_per_iteration must be a whole number"),
        (_of_points(), "points must be one or more"),
        (_of_points((3.0, 0.5), (1.5, 0.1)), "each faster than the last"),
        (_of_points((1.5, 0.1), (3.0, 0.5)), "each faster than the last"),
        (_of_points((1.5, 0.5), (1.5, 0.1)), "each faster than the last"),
        (_of_points((1.5, 7)), "tau must be from 0 to 1"),
        (_of_points((1.5, 0)), "numbers above 0 and at most 1000000, not 0"),
        (_of_points((math.nan, 0.5)), "numbers above 0 and at most 1000000, not nan"),
        (_of_points((10**400, 0.5)), "numbers above 0 and at most 1000000, not 10000"),
        (_of_points(("2", 0.5)), "numbers above 0 and at most 1000000, not '2'"),
        (_of_points((True, 0.5)), "numbers above 0 and at most 1000000, not True"),
    ],
)
def test_a_damaged_field_is_named(folder, change, message):
    save_table(folder, table())
    path = folder / CALIBRATION_FILE
    content = json.loads(path.read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content), "utf-8")
    before = path.read_bytes()
    with pytest.raises(UserError, match=f"^{path}: .*{message}"):
        load_calibration(folder)
    with pytest.raises(UserError):
        save_table(folder, table())
    assert path.read_bytes() == before


def test_no_json_and_a_folder_in_place_of_the_file(folder):
    path = folder / CALIBRATION_FILE
    path.write_text("{", "utf-8")
    with pytest.raises(UserError, match=f"{path}: not valid JSON"):
        load_calibration(folder)
    path.unlink()
    path.mkdir()
    for use in (load_calibration, lambda folder: save_table(folder, table())):
        with pytest.raises(UserError, match=f"^{path}: is a folder$"):
            use(folder)


def test_a_table_from_more_lines_is_not_replaced(folder):
    save_table(folder, dataclasses.replace(table(), num_lines=3))
    line = "the table for .* is from 3 lines, .* be from 2; --replace"
    with pytest.raises(UserError, match=line):
        check_replacement(folder, table().key, 2)
    check_replacement(folder, table().key, 3)
    check_replacement(folder, table().key, None)
    check_replacement(folder, table(length_beam=4).key, 2)
