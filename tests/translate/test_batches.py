"""Batches: every sentence once, few shapes, nothing too large."""

import random

from absl.testing import parameterized

from cmlm_tf.translate.batches import BATCH_SIZES, LENGTHS, USUAL_LENGTH, BatchShapes


class BatchShapesTest(parameterized.TestCase):
    @parameterized.product(static=[False, True], most=[1, 3, 64, 512])
    def test_every_sentence_once_within_the_budget(self, static, most):
        rng = random.Random(5)
        lengths = [rng.randint(1, 99) for _ in range(700)]
        shapes = BatchShapes(most, 100, static)
        batches = list(shapes.batches(lengths))
        self.assertCountEqual([i for batch in batches for i in batch], range(700))
        seen = set()
        for batch in batches:
            sources = [[7] * lengths[i] for i in batch]
            rows, longest = shapes.pad(sources).shape
            self.assertGreaterEqual(rows, len(batch))
            self.assertGreater(longest, max(map(len, sources)))
            self.assertLessEqual(len(batch), most)
            if len(batch) > 1:
                self.assertLessEqual(len(batch) * longest, most * 2 * USUAL_LENGTH)
            seen.add((rows, longest))
        if static:
            possible = {(b, n) for b in (*BATCH_SIZES, most) for n in (*LENGTHS, 100)}
            self.assertLessEqual(seen, possible)

    def test_a_single_shape(self):
        shapes = BatchShapes(8, 64, static=True, single=True)
        for batch in shapes.batches([1, 60, 3, 9, 9, 9, 9, 9, 9]):
            self.assertLessEqual(len(batch), 8)
            self.assertEqual(shapes.pad([[7]] * len(batch)).shape, (8, 64))
        self.assertEqual(shapes.static_length(3), 64)

    def test_padding(self):
        shapes = BatchShapes(8, 64, static=True)
        padded = shapes.pad([[9, 8], [7]]).numpy()
        self.assertEqual(padded.shape, (8, 16))
        self.assertEqual(padded[0].tolist(), [9, 8, 3] + [0] * 13)
        self.assertEqual(padded[2].tolist(), [0] * 16)
        self.assertEqual(shapes.pad_lengths([5, 6]).numpy().tolist(), [5, 6] + [0] * 6)
