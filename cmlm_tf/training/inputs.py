"""From prepared batches to what the decoders of teacher and student read.

Both work on the global batch, before it is split over replicas, so that masks
do not depend on how many devices there are.
"""

from collections.abc import Callable

import tensorflow as tf

from cmlm_tf.data.masking import mask_targets, sample_target_mask, shift_right

Batch = dict[str, tf.Tensor]

#: In place of the run's seed for the masks of the dev set, equal in all runs.
DEV_SEED = -1

_PARALLEL_BATCHES = 4
_PREFETCHED_BATCHES = 4


def teacher_inputs(batch: Batch) -> Batch:
    """Adds `decoder_ids`: the targets shifted right, BOS in front of each.

    Args:
        batch: int32 `[rows, length]` tensors of `TrainingBatches`, the targets
            ending in EOS.

    Returns:
        The batch and `decoder_ids`, int32 `[rows, length]`.
    """
    decoder_ids = shift_right(batch["target_ids"], batch["target_positions"])
    return batch | {"decoder_ids": decoder_ids}


def student_inputs(batch: Batch, seed: tf.Tensor) -> Batch:
    """Adds `decoder_ids`: the targets, some of them masked.

    Kreutzer et al. (2020), section 2.

    Args:
        batch: int32 `[rows, length]` tensors of `TrainingBatches`, the targets
            without EOS.
        seed: int32 `[2]`; equal seeds give equal masks.

    Returns:
        The batch and `decoder_ids`, int32 `[rows, length]`, MASK where masked.
    """
    mask = sample_target_mask(batch["target_segments"], seed)
    return batch | {"decoder_ids": mask_targets(batch["target_ids"], mask)}


def with_decoder_inputs(
    dataset: tf.data.Dataset, role: str, seed: int, start_step: int = 0
) -> tf.data.Dataset:
    """Adds the decoder's inputs to every batch.

    Args:
        dataset: of batches, the first of which is for update `start_step`.
        role: `teacher` or `student`.
        seed: batch i's masks are drawn from `seed` and `start_step + i`.
        start_step: updates done before.

    Returns:
        A dataset of batches for `TeacherTraining` or `StudentTraining`.
    """
    return (
        dataset.enumerate(start_step)
        .map(_inputs_fn(role, seed), _PARALLEL_BATCHES, deterministic=True)
        .prefetch(_PREFETCHED_BATCHES)
        .with_options(_options())
    )


def _inputs_fn(role: str, seed: int) -> Callable[[tf.Tensor, Batch], Batch]:
    def add_inputs(step, batch):
        if role == "teacher":
            return teacher_inputs(batch)
        return student_inputs(batch, tf.stack([seed, tf.cast(step, tf.int32)]))

    return add_inputs


def _options() -> tf.data.Options:
    """Lets every worker read all batches and keep its share of the rows."""
    options = tf.data.Options()
    # Its thread sleeps for up to a minute, and can miss the end of a dataset.
    options.autotune.enabled = False
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    return options
