"""Tests of the heuristics against their plain Python counterparts."""

import functools
import math
import random

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding import heuristics
from tests.decoding import oracle

NUM_ROWS = 4000
LENGTH = 11
INF = math.inf
THRESHOLDS = ("thresh", "comb_thresh", "fcomb_thresh")


def in_logs(name):
    """A threshold rule that takes log tau, for exact ties."""
    log_tau = property(lambda rule: tf.reshape(tf.cast(rule.tau, tf.float32), [-1, 1]))
    return type(name, (heuristics.HEURISTICS[name],), {"log_tau": log_tau})


def select(rule, log_probs, candidates=None, t=1):
    """The positions that a rule selects; there is no padding."""
    everywhere = tf.ones_like(log_probs, tf.bool)
    candidates = everywhere if candidates is None else candidates
    return true_positions(rule(log_probs, candidates, everywhere, t))


def true_positions(selected):
    return [np.flatnonzero(row).tolist() for row in np.asarray(selected)]


class Cases:
    """Rows with ties, zeros, empty rows, single tokens and padding."""

    def __init__(self, seed):
        rng = random.Random(seed)
        values = [0.0, -0.0, -0.125, -0.125, -0.25, -0.5, -1.0, -2.0, -40.0, -INF]
        self.rng = rng
        self.log_probs, self.candidates, self.valid = [], [], []
        for _ in range(NUM_ROWS):
            length = rng.choice([0, 1, 2, LENGTH, rng.randrange(LENGTH + 1)])
            valid = range(length)
            density = rng.choice([0.0, 0.3, 0.7, 1.0, 1.0])
            candidates = {i for i in valid if rng.random() < density}
            palette = rng.sample(values, rng.randrange(1, len(values)))
            self.valid.append(list(valid))
            self.candidates.append(candidates)
            self.log_probs.append(
                [
                    rng.choice(palette if i in candidates else [1.0, 0.0, math.nan])
                    for i in range(LENGTH)
                ]
            )

    def draw(self, values):
        return [self.rng.choice(values) for _ in range(NUM_ROWS)]

    def tensors(self):
        candidates = [[i in row for i in range(LENGTH)] for row in self.candidates]
        valid = [[i in row for i in range(LENGTH)] for row in self.valid]
        return (
            tf.constant(self.log_probs, tf.float32),
            tf.constant(candidates),
            tf.constant(valid),
        )


LOG_TAUS = [-INF, -80.0, -2.0, -1.0, -0.5, -0.375, -0.25, -0.125, 0.0, 0.5]


class OracleTest(tf.test.TestCase, parameterized.TestCase):
    def assert_selects(self, make_rule, cases, settings, expected, t=1, keep=None):
        def call(setting, *args):
            return make_rule(setting)(*args)

        wanted = np.zeros([NUM_ROWS, LENGTH], bool)
        for row, positions in enumerate(expected):
            wanted[row, list(positions)] = True
        args = tf.constant(settings), *cases.tensors(), tf.constant(t)
        for jit_compile in (False, True):
            call_fn = tf.function(call, autograph=False, jit_compile=jit_compile)
            selected = call_fn(*args).numpy()
            np.testing.assert_array_equal(selected[keep], wanted[keep])

    @parameterized.parameters("thresh", "comb_thresh")
    def test_exact_threshold_rules(self, name):
        cases = Cases(seed=1)
        log_taus = cases.draw(LOG_TAUS)
        rows = zip(cases.log_probs, cases.candidates, log_taus, strict=True)
        expected = [getattr(oracle, name)(*row) for row in rows]
        self.assert_selects(in_logs(name), cases, log_taus, expected)

    def test_fcomb_thresh(self):
        cases = Cases(seed=2)
        log_taus = cases.draw([-INF, -80.0, -2.1, -1.1, -0.6, -0.3, -0.1, 0.0, 0.5])
        rows = list(zip(cases.log_probs, cases.candidates, log_taus, strict=True))
        expected = [oracle.fcomb_thresh(*row) for row in rows]
        clear = np.array([not _is_near_tie(*row) for row in rows])
        self.assertGreater(clear.mean(), 0.95)
        rule = in_logs("fcomb_thresh")
        self.assert_selects(rule, cases, log_taus, expected, keep=clear)

    @parameterized.product(rule=["ceil", "floor", "fixed_k"], t=[1, 2, 3, 7])
    def test_rules_of_whole_numbers(self, rule, t):
        cases = Cases(seed=t)
        largest = 2**31 - 1 if rule == "fixed_k" else 1000
        numbers = cases.draw([1, 2, 3, 4, 5, 10, 11, 12, largest])
        make_rule, count = {
            "ceil": (heuristics.MaskPredict, oracle.mask_predict),
            "floor": (
                functools.partial(heuristics.MaskPredict, floor_schedule=True),
                functools.partial(oracle.mask_predict, floor=True),
            ),
            "fixed_k": (heuristics.MaskPredictFixedK, oracle.mask_predict_fixed_k),
        }[rule]
        rows = zip(cases.log_probs, cases.candidates, cases.valid, numbers, strict=True)
        expected = [count(p, c, v, t, number) for p, c, v, number in rows]
        self.assert_selects(make_rule, cases, numbers, expected, t)

    @parameterized.product(name=THRESHOLDS, tau=[0, 0.0, 0.3, 1, 1.0])
    def test_tau_as_a_number_for_all_rows(self, name, tau):
        cases = Cases(seed=5)
        expected = [
            oracle.HEURISTICS[name](p, c, None, None, tau)
            for p, c in zip(cases.log_probs, cases.candidates, strict=True)
        ]
        selected = heuristics.HEURISTICS[name](tau)(*cases.tensors(), 1)
        self.assertEqual(true_positions(selected), [sorted(row) for row in expected])


def _is_near_tie(log_probs, candidates, log_tau):
    """True where float32 cannot tell the criterion's value from log_tau."""
    order = oracle.ranked(log_probs, candidates)
    values = [
        oracle.fcomb_value(log_probs, order[:k], order[k:])
        for k in range(1, len(order) + 1)
    ]
    return any(v != -INF and abs(v - log_tau) < 1e-5 for v in values)


class HandCasesTest(tf.test.TestCase, parameterized.TestCase):
    def test_rules_on_one_row(self):
        log_probs = tf.math.log([[0.5, 0.95, 0.2, 0.8, 0.9]])
        # By rank: 0.95, 0.9, 0.8, 0.5, 0.2; products 0.95, 0.855, 0.684, 0.342.
        # fcomb: 0.95 * (1 - 0.072), 0.855 * (1 - 0.08), 0.684 * (1 - 0.1), ...
        for rule, expected in [
            (heuristics.Thresh(0.75), [1, 3, 4]),
            (heuristics.Thresh(0.97), [1]),
            (heuristics.CombThresh(0.6), [1, 3, 4]),
            (heuristics.CombThresh(0.7), [1, 4]),
            (heuristics.FcombThresh(0.6), [1, 3, 4]),
            (heuristics.FcombThresh(0.65), [1, 4]),
            (heuristics.FcombThresh(0.8), [1]),
            (heuristics.MaskPredict(5), [1]),
            (heuristics.MaskPredict(4), [1, 4]),
            (heuristics.MaskPredict(2), [1, 3, 4]),
            (heuristics.MaskPredict(2, floor_schedule=True), [1, 3, 4]),
            (heuristics.MaskPredict(4, floor_schedule=True), [1, 4]),
            (heuristics.MaskPredictFixedK(2), [1, 4]),
        ]:
            with self.subTest(rule=str(rule)):
                self.assertEqual(select(rule, log_probs), [expected])

    def test_fcomb_thresh_takes_the_last_token_only_by_fallback(self):
        log_probs = tf.constant([[-0.1, -0.2, -0.3], [-0.1, -0.2, -INF]])
        rule = heuristics.FcombThresh(0)
        self.assertEqual(select(rule, log_probs), [[0, 1], [0, 1]])
        last = tf.constant([[False, False, True]] * 2)
        self.assertEqual(select(rule, log_probs, last), [[2], [2]])

    def test_comparison_is_strict(self):
        log_probs = tf.constant([[-0.25, -0.5, -0.75]])
        for name, log_tau, expected in [
            ("comb_thresh", -0.75, [0]),
            ("comb_thresh", -0.7500001, [0, 1]),
            ("thresh", -0.5, [0]),
        ]:
            self.assertEqual(select(in_logs(name)(log_tau), log_probs), [expected])

    @parameterized.parameters(False, True)
    def test_mask_predict_schedule_for_all_small_lengths(self, floor):
        # N * (1 - t / T) in floats is 1.9999999999999996 for N = T = 10 and t = 8.
        pairs = [(n, total) for n in range(1, 25) for total in range(1, 25)]
        n, total = (tf.constant(column) for column in zip(*pairs, strict=True))
        valid, log_probs = tf.sequence_mask(n, 24), tf.zeros([len(pairs), 24])
        rule = heuristics.MaskPredict(total, floor)
        for t in range(1, 25):
            expected = [
                max(n - n * max(total - t, 0) // total, 1)
                if floor
                else min(n, t * math.ceil(n / total))
                for n, total in pairs
            ]
            selected = rule(log_probs, valid, valid, t)
            self.assertEqual(np.sum(selected, axis=1).tolist(), expected)


class MetadataTest(parameterized.TestCase):
    """What a rule's class says of its setting."""

    @parameterized.parameters(*heuristics.HEURISTICS.values())
    def test_the_grid_is_of_settings_from_slow_to_fast(self, rule):
        self.assertBetween(len(rule.grid), 10, 12)
        for setting in (rule.default, *rule.grid):
            rule.check(setting)
        places = [rule.place(setting) for setting in rule.grid]
        self.assertEqual(places, sorted(set(places)))
        if not rule.is_whole:
            for setting, place in zip(rule.grid, places, strict=True):
                self.assertAlmostEqual(rule.setting_at(place) / setting, 1)

    @parameterized.parameters(
        ("mask_predict", 0, "num_iterations"),
        ("mask_predict", 2.5, "num_iterations"),
        ("fixed_k", -1, "tokens_per_iteration"),
        ("fixed_k", math.nan, "tokens_per_iteration"),
        ("fixed_k", INF, "tokens_per_iteration"),
        ("thresh", -0.1, "tau"),
        ("comb_thresh", 1.1, "tau"),
        ("fcomb_thresh", math.nan, "tau"),
    )
    def test_names_the_field(self, name, value, field):
        with self.assertRaisesRegex(ValueError, f"^{name}: {field} .*{value}$"):
            heuristics.HEURISTICS[name].check(value)
