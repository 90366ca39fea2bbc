"""Figure 1 of the paper: three factorisations of p(a, b, c) by the loop."""

import numpy as np
import tensorflow as tf

from cmlm_tf.decoding import heuristics, loop
from tests.decoding import loop_cases
from tests.decoding.table_model import MASK_ID


class FactorizationTest(tf.test.TestCase):
    """Figure 1 of the paper, Y = (a, b, c), from a table of conditionals."""

    A, B, C = 5, 6, 7
    #: observed positions -> probabilities of a, b, c where masked.
    TABLE = {
        (): (0.9, 0.25, 0.75),
        (0,): (None, 0.625, 0.5),
        (0, 1): (None, None, 0.375),
        (0, 2): (None, 0.875, None),
    }

    def predict(self, input_ids, wanted):
        del wanted
        (row,) = input_ids.numpy().tolist()
        observed = tuple(i for i, token_id in enumerate(row) if token_id != MASK_ID)
        self.assertEqual([row[i] for i in observed], [(5, 6, 7)[i] for i in observed])
        probs = [p or 1e-9 for p in self.TABLE[observed]]
        return tf.constant([[self.A, self.B, self.C]]), tf.math.log([probs])

    def check(self, heuristic, masks, factors):
        unmasking = loop.Unmasking(heuristic, trace=True)
        result = loop_cases.run(self.predict, tf.ones([1, 3], tf.bool), unmasking)
        self.assertAllEqual(result.token_ids, [[self.A, self.B, self.C]])
        self.assertAllEqual(result.log_probs, tf.math.log([factors]))
        self.assertAllEqual(result.num_iterations, [len(masks)])
        found = [set(np.flatnonzero(m) + 1) for m in result.trace.mask[0, : len(masks)]]
        self.assertEqual(found, masks)

    def test_non_autoregressive(self):
        # p(a|X) p(b|X) p(c|X)
        factors = [0.9, 0.25, 0.75]
        self.check(heuristics.MaskPredict(1), [set()], factors)
        self.check(heuristics.Thresh(0.2), [set()], factors)
        self.check(heuristics.CombThresh(0.16), [set()], factors)

    def test_left_to_right(self):
        # p(a|X) p(b|a,X) p(c|a,b,X)
        masks, factors = [{2, 3}, {3}, set()], [0.9, 0.625, 0.375]
        self.check(heuristics.MaskPredict(3), masks, factors)
        self.check(heuristics.MaskPredictFixedK(1), masks, factors)
        self.check(heuristics.Thresh(0.8), masks, factors)
        self.check(heuristics.CombThresh(0.7), masks, factors)
        self.check(heuristics.FcombThresh(0.7), masks, factors)

    def test_outside_in(self):
        # p(a|X) p(c|X) p(b|a,c,X)
        masks, factors = [{2}, set()], [0.9, 0.875, 0.75]
        self.check(heuristics.MaskPredict(2), masks, factors)
        self.check(heuristics.MaskPredictFixedK(2), masks, factors)
        self.check(heuristics.Thresh(0.7), masks, factors)
        self.check(heuristics.CombThresh(0.6), masks, factors)
        self.check(heuristics.FcombThresh(0.5), masks, factors)
