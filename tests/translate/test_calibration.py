"""What a calibration promises, and what is no calibration."""

import dataclasses
import json
import shutil
import tempfile
from pathlib import Path

import tensorflow as tf
from absl.testing import parameterized
from cmlm_tf.translate.speed_table import Point, SpeedTable

from cmlm_tf.errors import UserError
from cmlm_tf.translate.calibration import (
    CALIBRATION_FILE,
    check_replacement,
    load_calibration,
    save_table,
)
from tests.tiny_models import model_dir

POINTS = (Point(1.5, 0.5), Point(3.0, 0.1), Point(6.0, 0.001))


def table(heuristic="comb_thresh", points=POINTS, length_beam=5, drop=False):
    key = (heuristic, "update_masked_sub", length_beam, drop)
    return SpeedTable(*key, tuple(points), 300, "0f")


class PromiseTest(tf.test.TestCase, parameterized.TestCase):
    def test_measured_speeds_give_measured_settings(self):
        for point in POINTS:
            self.assertEqual(table().promise(point.speedup), point)

    def test_tau_between_points_by_the_rule(self):
        """The root of -log tau lies halfway where the speed does."""
        roots = [(-tf.math.log(tau)).numpy() ** 0.5 for tau in (0.1, 0.001)]
        root = sum(roots) / 2
        promise = table().promise(4.5)
        self.assertEqual(promise.speedup, 4.5)
        self.assertAllClose(promise.setting, 2.718281828 ** -(root**2), rtol=1e-5)

    def test_faster_is_never_a_larger_tau(self):
        targets = [1.5 + 0.05 * i for i in range(91)]
        settings = [table().promise(target).setting for target in targets]
        self.assertEqual(settings, sorted(settings, reverse=True))
        self.assertLen(set(settings), len(settings))

    @parameterized.parameters((2.0, 0.5), (2.5, 0.1), (4.4, 0.1), (5.0, 0.001))
    def test_of_few_lines_only_measured_speeds_are_promised(self, target, setting):
        few = dataclasses.replace(table(), num_lines=299)
        promise = few.promise(target)
        self.assertEqual(promise.setting, setting)
        self.assertIn(promise, POINTS)

    @parameterized.parameters((2.0, 2), (2.3, 3), (3.4, 4), (1.9, 2))
    def test_whole_numbers_are_the_nearest_that_was_measured(self, target, setting):
        points = [Point(1.9, 2), Point(2.6, 3), Point(3.4, 4)]
        promise = table("fixed_k", points).promise(target)
        self.assertIn(promise, points)
        self.assertEqual(promise.setting, setting)

    @parameterized.parameters(1.49, 6.01, float("nan"), float("inf"), -1.0)
    def test_a_speed_outside_names_the_range(self, target):
        message = "target_speedup must be from 1.50 to 6.00 for comb_thresh"
        with self.assertRaisesRegex(UserError, message):
            table().promise(target)

    @parameterized.parameters(
        ([1.92398, 10.897], "from 1.93 to 10.89", ("1.93", "10.89")),
        ([1.234567], "1.234567", ("1.234567",)),
    )
    def test_the_range_that_is_named_is_inside(self, speeds, span, limits):
        points = [Point(v, t) for v, t in zip(speeds, (0.5, 0.1), strict=False)]
        message = f"target_speedup must be {span} for comb_thresh"
        for refused in (speeds[0] - 0.001, speeds[-1] + 0.001):
            with self.assertRaisesRegex(UserError, message):
                table(points=points).promise(refused)
        for named in limits:
            table(points=points).promise(float(named))

    @parameterized.parameters(
        ("comb_thresh", []),
        ("comb_thresh", [Point(1.5, 0.1), Point(3.0, 0.5)]),
        ("comb_thresh", [Point(3.0, 0.5), Point(1.5, 0.1)]),
        ("comb_thresh", [Point(1.5, 0.5), Point(1.5, 0.1)]),
        ("comb_thresh", [Point(1.5, 1.5)]),
        ("comb_thresh", [Point(1.5, 0)]),
        ("comb_thresh", [Point(float("nan"), 0.5)]),
        ("comb_thresh", [Point("2", 0.5)]),
        ("comb_thresh", [Point(True, 0.5)]),
        ("fixed_k", [Point(2.0, 3), Point(3.0, 2)]),
        ("fixed_k", [Point(2.0, 2.5)]),
        ("mask_predict", [Point(2.0, 3), Point(3.0, 4)]),
        ("best", [Point(2.0, 3)]),
    )
    def test_what_is_no_table(self, heuristic, points):
        with self.assertRaises(UserError):
            table(heuristic, points)


class FileTest(tf.test.TestCase, parameterized.TestCase):
    def setUp(self):
        super().setUp()
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name) / "model"
        shutil.copytree(model_dir("student"), self.folder)
        self.path = self.folder / CALIBRATION_FILE

    def change(self, change):
        content = json.loads(self.path.read_text("utf-8"))
        change(content)
        self.path.write_text(json.dumps(content), "utf-8")

    def test_without_a_file(self):
        self.assertIsNone(load_calibration(self.folder))

    def test_tables_come_back_and_replace_their_like(self):
        other = table("fixed_k", [Point(2.0, 2)])
        for stored in (table(points=POINTS[:2]), other, table()):
            save_table(self.folder, stored)
        calibration = load_calibration(self.folder)
        self.assertEqual(calibration.tables, (other, table()))
        self.assertEqual(calibration.setting(3.0, "comb_thresh", 5), 0.1)
        self.assertEqual(calibration.promise(2.0, "fixed_k"), Point(2.0, 2))

    @parameterized.parameters(
        {"length_beam": 4},
        {"strategy": "update_all"},
        {"drop_losing_candidates": True},
        {"heuristic": "thresh"},
    )
    def test_another_way_of_decoding(self, **other):
        save_table(self.folder, table())
        name, value = next(iter(other.items()))
        with self.assertRaisesRegex(
            UserError, f"{self.path}: not calibrated for .*{name}={value}.* but for "
        ):
            load_calibration(self.folder).promise(
                3.0, **({"heuristic": "comb_thresh"} | other)
            )

    @parameterized.parameters(
        (lambda c: c.pop("format"), "must hold format"),
        (lambda c: c.update(format=2), "format is 2, expected 1"),
        (lambda c: c.update(format=True), "format is True, expected 1"),
        (lambda c: c.update(format=1.0), "format is 1.0, expected 1"),
        (lambda c: c.update(weights_sha256="00"), "weights_sha256 is '00', expected"),
        (lambda c: c.update(tables={}), "tables must be a list"),
        (lambda c: c.update(tables=[]), "tables must be a list of one or more"),
        (lambda c: c["tables"][0].update(points=[]), "points must not be empty"),
        (lambda c: c["tables"][0].update(num_lines=0), "num_lines must be at least 1"),
        (lambda c: c["tables"].append([]), r"tables\[1\]: must hold heuristic"),
        (lambda c: c["tables"][0].pop("points"), r"tables\[0\]: must hold heuristic"),
        (lambda c: c["tables"][0].update(length_beam=5.0), "length_beam must be of"),
        (lambda c: c["tables"][0].update(length_beam=0), "length_beam must be at"),
        (lambda c: c["tables"][0].update(strategy="x"), "strategy must be one of"),
        (lambda c: c["tables"][0]["points"].append(3), r"points\[3\] must hold"),
        (lambda c: c["tables"][0]["points"].reverse(), r"points\[1\] must be faster"),
        (
            lambda c: c["tables"][0]["points"][1].update(speedup=float("nan")),
            r"points\[1\]: speedup must be a number",
        ),
        (
            lambda c: c["tables"][0]["points"][2].update(speedup=10**400),
            r"points\[2\]: speedup must be a number",
        ),
        (
            lambda c: c["tables"][0]["points"][2].update(setting=5e-324),
            r"points\[2\]: setting must be a number",
        ),
        (
            lambda c: c["tables"][0]["points"][0].update(setting=7),
            "tau must be from 0 to 1",
        ),
        (lambda c: c["tables"].append(c["tables"][0]), "same way of decoding"),
    )
    def test_a_damaged_field_is_named(self, change, message):
        save_table(self.folder, table())
        self.change(change)
        before = self.path.read_bytes()
        with self.assertRaisesRegex(UserError, f"{self.path}: .*{message}"):
            load_calibration(self.folder)
        with self.assertRaises(UserError):
            save_table(self.folder, table())
        self.assertEqual(self.path.read_bytes(), before)

    def test_no_json(self):
        self.path.write_text("{", "utf-8")
        with self.assertRaisesRegex(UserError, f"{self.path}: not valid JSON"):
            load_calibration(self.folder)

    def test_a_folder_in_place_of_the_file(self):
        self.path.mkdir()
        for use in (load_calibration, lambda folder: save_table(folder, table())):
            with self.assertRaisesRegex(UserError, f"^{self.path}: is a folder$"):
                use(self.folder)

    def test_a_table_from_more_lines_is_not_replaced(self):
        save_table(self.folder, dataclasses.replace(table(), num_lines=3))
        before = self.path.read_bytes()
        line = f"{self.path}: the table for .* is from 3 lines, .* be from 2; --replace"
        with self.assertRaisesRegex(UserError, line):
            check_replacement(self.folder, table().key, 2)
        for key, num_lines in (
            (table().key, 3),
            (table().key, None),
            (table(length_beam=4).key, 2),
        ):
            check_replacement(self.folder, key, num_lines)
        self.assertEqual(self.path.read_bytes(), before)


if __name__ == "__main__":
    tf.test.main()
