"""Which target positions the student must predict, and the teacher's inputs."""

import tensorflow as tf

from cmlm_tf.special_ids import BOS_ID, MASK_ID, PAD_ID

# The default generator differs between devices, and uniform floats differ
# between XLA and plain graphs even so; full-range integers do not.
_GENERATOR = "philox"


def sample_target_mask(target_segments: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Draws the masked positions of every sentence.

    Kreutzer et al. (2020), section 2, after Ghazvininejad et al. (2019): a
    sentence of N tokens gets a number S, uniform on 1 to N, then S of its
    positions, drawn without replacement. S = N is drawn too: it is the state
    from which decoding starts.

    Args:
        target_segments: int32 `[rows, length]`, number of the sentence within
            its row from 1, 0 at padding.
        seed: int32 `[2]`; the same seed draws the same positions.

    Returns:
        bool `[rows, length]`, True where masked, False at padding. Each
        sentence has at least one masked position.
    """
    shape = tf.shape(target_segments)
    seeds = tf.random.split(seed, alg=_GENERATOR)
    keys = _random_integers(shape, seeds[0])
    # One number for each segment, 0 included, which is the padding.
    draws = _random_integers([shape[0], shape[1] + 1], seeds[1])
    return smallest_keys(target_segments, keys, draws)


def _random_integers(shape: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    return tf.random.stateless_uniform(
        shape, seed, minval=None, maxval=None, dtype=tf.int32, alg=_GENERATOR
    )


def smallest_keys(
    target_segments: tf.Tensor, keys: tf.Tensor, draws: tf.Tensor
) -> tf.Tensor:
    """Selects the `1 + draw mod N` positions of smallest key in each sentence.

    Equal keys are ranked from the left, so the number is always exact.

    Args:
        target_segments: int32 `[rows, length]`, 0 at padding.
        keys: int32 `[rows, length]`.
        draws: int32 `[rows, length + 1]`, any number for each segment number;
            ignored where there is no such segment.

    Returns:
        bool `[rows, length]`, True where selected, False at padding.

    >>> segments = tf.constant([[1, 1, 1, 2, 2, 0]])
    >>> keys = tf.constant([[3, 1, 2, 5, 5, 0]])
    >>> draws = tf.constant([[0, 4, 2, 0, 0, 0, 0]])
    >>> smallest_keys(segments, keys, draws).numpy().astype(int).tolist()
    [[0, 1, 1, 1, 0, 0]]
    """
    places = tf.range(tf.shape(target_segments)[1])
    to_the_left = places[tf.newaxis, :] < places[:, tf.newaxis]
    # [rows, length] -> [rows, length, length]: position i against every j.
    same = target_segments[:, :, tf.newaxis] == target_segments[:, tf.newaxis, :]
    key_i, key_j = keys[:, :, tf.newaxis], keys[:, tf.newaxis, :]
    before = same & ((key_j < key_i) | ((key_j == key_i) & to_the_left))
    rank = tf.reduce_sum(tf.cast(before, tf.int32), axis=2)
    num_tokens = tf.reduce_sum(tf.cast(same, tf.int32), axis=2)
    draw = tf.gather(draws, target_segments, axis=1, batch_dims=1)
    selected = rank <= tf.math.floormod(draw, num_tokens)
    return selected & (target_segments > 0)


def mask_targets(target_ids: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Puts MASK at the masked positions.

    Args:
        target_ids: int32 `[rows, length]`.
        mask: bool `[rows, length]`, True where masked.

    Returns:
        int32 `[rows, length]`, the student's decoder input.

    >>> ids, mask = tf.constant([[7, 8, 9]]), tf.constant([[True, False, True]])
    >>> mask_targets(ids, mask).numpy().tolist()
    [[4, 8, 4]]
    """
    return tf.where(mask, MASK_ID, target_ids)


def shift_right(target_ids: tf.Tensor, target_positions: tf.Tensor) -> tf.Tensor:
    """Moves every sentence one place to the right and puts BOS in front.

    Args:
        target_ids: int32 `[rows, length]`, labels ending in EOS, PAD elsewhere.
        target_positions: int32 `[rows, length]`, place within the sentence.

    Returns:
        int32 `[rows, length]`, the teacher's decoder input: BOS at position 0,
        else the label before; PAD where the label is PAD.

    >>> ids = tf.constant([[7, 8, 3, 9, 3, 0]])
    >>> shift_right(ids, tf.constant([[0, 1, 2, 0, 1, 0]])).numpy().tolist()
    [[2, 7, 8, 2, 9, 0]]
    """
    before = tf.roll(target_ids, shift=1, axis=1)
    shifted = tf.where(target_positions == 0, BOS_ID, before)
    return tf.where(target_ids == PAD_ID, PAD_ID, shifted)
