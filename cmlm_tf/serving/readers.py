"""What completion and scoring read off the logits of a pass."""

from collections.abc import Sequence

import tensorflow as tf

from cmlm_tf.modeling.output import Reader, ban, best_tokens


def stricter_reader(
    banned_ids: Sequence[int], places: tf.Tensor, banned_there: Sequence[int]
) -> Reader:
    """Returns what reads the best ids, of fewer at some places.

    Args:
        banned_ids: everywhere.
        places: bool `[batch, candidates, length]`.
        banned_there: banned at these places, too.
    """

    def read(logits: tf.Tensor, is_there: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        stricter = ban(logits, banned_there)
        return best_tokens(
            tf.where(is_there[:, tf.newaxis], stricter, logits), banned_ids
        )

    return Reader(read, (places,))


def forced_reader(banned_ids: Sequence[int], forced_ids: tf.Tensor) -> Reader:
    """Returns what reads forced ids `[batch, candidates, length]`, for `Forced`."""
    return Reader(
        lambda logits, given: (given, *given_tokens(logits, banned_ids, given)),
        (forced_ids,),
        (tf.int32, tf.float32, tf.float32),
    )


def given_tokens(
    logits: tf.Tensor, banned_ids: Sequence[int], given: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns how probable given ids are, and how probable the best one is.

    Args:
        logits: float32 `[positions, vocab_size]`.
        banned_ids: ids that are never written.
        given: int32 `[positions]`.

    Returns:
        Two float32 `[positions]` of natural log-probabilities, at most 0: of
        `given`, -inf where it is banned, and of the most probable id. They are
        the same to the last bit where that is `given`.

    >>> given, best = given_tokens(tf.math.log([[9.0, 1.0, 3.0]]), [0], [1])
    >>> print(f"{tf.exp(given)[0]:.4f} {tf.exp(best)[0]:.4f}")
    0.2500 0.7500
    """
    _, best = best_tokens(logits, banned_ids)
    allowed = ban(logits, banned_ids)
    distance = tf.gather(allowed, given, batch_dims=1) - tf.reduce_max(allowed, axis=-1)
    return distance + best, best
