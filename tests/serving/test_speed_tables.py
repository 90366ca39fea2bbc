"""The graph finds the settings that the calibration does."""

import math

import numpy as np
import tensorflow as tf
from cmlm_tf.translate.speed_table import Point, SpeedTable

from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.serving.requests import option_defaults, read_request
from cmlm_tf.serving.speed_tables import find_settings, servable


def table(
    heuristic, points, beam=5, strategy="update_masked_sub", drop=False, lines=300
):
    points = tuple(Point(*point) for point in points)
    return SpeedTable(heuristic, strategy, beam, drop, points, lines, "")


TABLES = [
    table("fixed_k", [(1.0, 1), (1.8, 2), (2.6, 3)]),
    table("comb_thresh", [(1.1, 0.9), (2.0, 0.3), (4.0, 0.01)]),
    table("comb_thresh", [(1.5, 0.5), (3.0, 0.1)], beam=1),
    table("comb_thresh", [(1.1, 0.9), (2.0, 0.3), (4.0, 0.01)], beam=3, lines=299),
]


def find(heuristic, beam, targets):
    rules = [list(HEURISTICS).index(heuristic)] * len(targets)
    found = find_settings(
        TABLES,
        tf.constant(targets, tf.float32),
        tf.constant(rules),
        tf.fill([len(targets)], beam),
    )
    return found.settings.numpy(), found.is_inside.numpy().tolist()


def options(**given):
    return option_defaults() | {name: tf.constant([v]) for name, v in given.items()}


class SpeedTablesTest(tf.test.TestCase):
    def test_whole_numbers_are_the_nearest_measured(self):
        settings, found = find("fixed_k", 5, [1.0, 1.3, 1.5, 2.0, 2.3, 2.6])
        self.assertAllEqual(settings, [1, 1, 2, 2, 3, 3])
        self.assertTrue(all(found))

    def test_tau_is_linear_in_the_root_of_its_negative_logarithm(self):
        targets = [1.1, 1.55, 2.0, 3.0, 4.0]
        settings, found = find("comb_thresh", 5, targets)
        places = [math.sqrt(-math.log(tau)) for tau in (0.9, 0.3, 0.01)]
        expected = np.exp(-(np.interp(targets, [1.1, 2.0, 4.0], places) ** 2))
        self.assertAllClose(settings, expected, rtol=1e-6)
        self.assertTrue(all(found))

    def test_of_few_lines_only_measured_settings_are_found(self):
        targets = [1.1, 1.5, 1.6, 2.9, 3.1, 4.0]
        settings, found = find("comb_thresh", 3, targets)
        self.assertAllClose(settings, [0.9, 0.9, 0.3, 0.3, 0.01, 0.01])
        promised = [TABLES[-1].promise(target).setting for target in targets]
        self.assertAllClose(settings, promised)
        self.assertTrue(all(found))

    def test_what_is_not_calibrated_is_not_found(self):
        for heuristic, beam, targets in (
            ("comb_thresh", 5, [1.0, 4.1, float("nan")]),
            ("comb_thresh", 2, [2.0]),
            ("thresh", 5, [2.0]),
        ):
            self.assertFalse(any(find(heuristic, beam, targets)[1]))
        self.assertAllClose(find("comb_thresh", 1, [3.0])[0], [0.1])

    def test_a_request_gives_a_speed_or_a_setting(self):
        size = tf.constant(1)
        asked = options(heuristic="fixed_k", target_speedup=1.9)
        self.assertAllEqual(read_request(size, asked, 24, TABLES).settings, [2.0])
        for none in (float("nan"), 0.0, -0.0):
            asked = options(setting=0.25, target_speedup=none)
            self.assertAllEqual(read_request(size, asked, 24, TABLES).settings, [0.25])
        for none in (float("nan"), -1.0):
            asked = options(setting=none, target_speedup=2.0)
            found = read_request(size, asked, 24, TABLES).settings
            self.assertAllClose(found, [0.3])
        for given, tables, message in (
            ({"target_speedup": 9.0}, TABLES, "must be from 1.00 to 2.60 for fixed_k"),
            (
                {"target_speedup": 2.0, "heuristic": "thresh"},
                TABLES,
                "target_speedup: calibrated only for fixed_k with length_beam 5; ",
            ),
            (
                {"target_speedup": 2.0, "length_beam": 2},
                TABLES,
                "target_speedup: calibrated only for fixed_k with length_beam 5; ",
            ),
            ({"target_speedup": 2.0}, (), "target_speedup: the model was not"),
            (
                {"target_speedup": 2.0, "setting": 0.1},
                TABLES,
                "target_speedup: give it or setting, not both",
            ),
        ):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, message):
                read_request(size, options(**given), 24, tables)

    def test_the_speeds_that_a_refusal_names_are_accepted(self):
        tables = [table("comb_thresh", [(1.92398, 0.5), (10.897, 0.1)])]
        size = tf.constant(1)
        message = "target_speedup: must be from 1.93 to 10.89 for comb_thresh"
        for speed in (1.92, 10.9):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, message):
                read_request(size, options(target_speedup=speed), 24, tables)
        for speed in (1.93, 10.89):
            read_request(size, options(target_speedup=speed), 24, tables)

    def test_tables_of_other_ways_to_decode_are_left_out(self):
        others = [
            table("fixed_k", [(1.0, 1)], strategy="update_all"),
            table("fixed_k", [(1.0, 1)], drop=True),
        ]
        self.assertEqual(servable([*others, *TABLES]), TABLES)


if __name__ == "__main__":
    tf.test.main()
