import numpy as np
import tensorflow as tf

from cmlm_tf.special_ids import BOS_ID, MASK_ID
from cmlm_tf.training.inputs import with_decoder_inputs

SEGMENTS = np.array([[1, 1, 1, 2, 2, 0], [1, 1, 1, 1, 1, 1]], np.int32)
POSITIONS = np.array([[0, 1, 2, 0, 1, 0], [0, 1, 2, 3, 4, 5]], np.int32)
IDS = np.where(SEGMENTS, np.arange(12).reshape(2, 6) + 10, 0).astype(np.int32)


def batches(role, seed=7, start=0, size=6):
    batch = {
        "target_ids": IDS,
        "target_segments": SEGMENTS,
        "target_positions": POSITIONS,
    }
    dataset = tf.data.Dataset.from_tensors(batch).repeat(size - start)
    dataset = with_decoder_inputs(dataset, role, seed, start)
    return list(dataset.as_numpy_iterator())


class WithDecoderInputsTest(tf.test.TestCase):
    def test_teacher_reads_the_targets_shifted(self):
        (batch,) = batches("teacher", size=1)
        expected = [[BOS_ID, 10, 11, BOS_ID, 13, 0], [BOS_ID, 16, 17, 18, 19, 20]]
        self.assertAllEqual(batch["decoder_ids"], expected)
        self.assertAllEqual(batch["target_ids"], IDS)

    def test_student_reads_the_targets_masked(self):
        for batch in batches("student"):
            mask = batch["decoder_ids"] == MASK_ID
            self.assertFalse(mask[SEGMENTS == 0].any())
            for row, segment in ((0, 1), (0, 2), (1, 1)):
                self.assertTrue(mask[row, SEGMENTS[row] == segment].any())
            self.assertAllEqual(batch["decoder_ids"], np.where(mask, MASK_ID, IDS))
            self.assertAllEqual(batch["target_ids"], IDS)

    def test_masks_follow_from_seed_and_step(self):
        def inputs(**kwargs):
            return [batch["decoder_ids"] for batch in batches("student", **kwargs)]

        first = inputs()
        self.assertAllEqual(first, inputs())
        self.assertAllEqual(first[2:], inputs(start=2))
        self.assertNotAllEqual(first, inputs(seed=8))
        self.assertNotAllEqual(first[0], first[1])
