"""From prepared batches to what the decoders of teacher and student read.

Both work on the global batch, before it is split over replicas, so that masks
do not depend on how many devices there are.
"""

import tensorflow as tf

from cmlm_tf.data.masking import mask_targets, sample_target_mask, shift_right

Batch = dict[str, tf.Tensor]

#: In place of the run's seed for the masks of the dev set, equal in all runs.
DEV_SEED = -1

_PARALLEL_BATCHES = 4
_PREFETCHED_BATCHES = 4


def with_decoder_inputs(
    dataset: tf.data.Dataset, role: str, seed: int, start_step: int = 0
) -> tf.data.Dataset:
    """Adds `decoder_ids` to every batch, int32 `[rows, length]`.

    The teacher reads the targets shifted right, BOS in front of each. The student
    reads them with MASK where masked (Kreutzer et al., 2020, section 2).

    Args:
        dataset: of batches as of `TrainingBatches`, the first of which is for update
            `start_step`; the teacher's targets end in EOS, the student's do not.
        role: `teacher` or `student`.
        seed: batch i's masks are drawn from `seed` and `start_step + i`.
        start_step: updates done before.
    """

    def add_inputs(step: tf.Tensor, batch: Batch) -> Batch:
        ids = batch["target_ids"]
        if role == "teacher":
            decoder_ids = shift_right(ids, batch["target_positions"])
        else:
            seeds = tf.stack([seed, tf.cast(step, tf.int32)])
            mask = sample_target_mask(batch["target_segments"], seeds)
            decoder_ids = mask_targets(ids, mask)
        return batch | {"decoder_ids": decoder_ids}

    return (
        dataset.enumerate(start_step)
        .map(add_inputs, _PARALLEL_BATCHES, deterministic=True)
        .prefetch(_PREFETCHED_BATCHES)
        .with_options(_options())
    )


def _options() -> tf.data.Options:
    """Lets every worker read all batches and keep its share of the rows."""
    options = tf.data.Options()
    # Its thread sleeps for up to a minute, and can miss the end of a dataset.
    options.autotune.enabled = False
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    return options
