"""Losses of teacher and student, as sums over one replica's sentences."""

import numpy as np
import tensorflow as tf


def allowed_vocabulary(vocab_size: int, banned_ids: tuple[int, ...]) -> tf.Tensor:
    """Returns which subwords a model may write: bool `[vocab_size]`.

    >>> allowed_vocabulary(4, (0, 2)).numpy().tolist()
    [False, True, False, True]
    """
    return tf.constant(~np.isin(np.arange(vocab_size), banned_ids))


def smoothed_loss_and_gradient(
    logits: tf.Tensor, labels: tf.Tensor, allowed: tf.Tensor, smoothing: float
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Cross-entropy against a label smoothed over the allowed vocabulary.

    Vaswani et al. (2017), section 5.4. The label distribution has
    `smoothing / V` at each of the V allowed subwords and `1 - smoothing` more
    at the label. Its own entropy is not subtracted: a perfect model with
    smoothing 0.1 and V = 32,000 still has a loss of about 1.36.

    The gradient is written out, `softmax - label distribution`, so that no
    more than one float32 tensor of the size of the logits need be kept.

    Args:
        logits: float `[..., vocab_size]`, any float type; computed in float32.
        labels: int32 `[...]`. Where the label is not allowed (padding), the
            loss is finite and means nothing.
        allowed: bool `[vocab_size]`, True where the model may write the
            subword; other logits are ignored and get no gradient.
        smoothing: the share spread over the allowed vocabulary, in [0, 1).

    Returns:
        float32 loss `[...]`, nats, never infinite for finite logits; bool
        `[...]`, True where the label is the best allowed subword or as good;
        and the gradient `[..., vocab_size]` in the dtype of the logits.

    >>> logits = tf.constant([[2.0, 0.0, 0.0, 9.0]])
    >>> allowed = tf.constant([True, True, True, False])
    >>> loss, _, _ = smoothed_loss_and_gradient(logits, tf.constant([0]), allowed, 0.0)
    >>> print(f"{loss[0]:.4f}")  # log(e^2 + 1 + 1) - 2
    0.2395
    """
    spread = tf.cast(allowed, tf.float32) / tf.math.count_nonzero(
        allowed, dtype=tf.float32
    )
    scores = tf.cast(logits, tf.float32)
    is_label = labels[..., None] == tf.range(tf.shape(allowed)[0])
    best = tf.reduce_max(tf.where(allowed, scores, scores.dtype.min), axis=-1)
    weights = tf.where(allowed, tf.exp(scores - best[..., None]), 0.0)
    total = tf.reduce_sum(weights, axis=-1)
    label_score = tf.reduce_sum(tf.where(is_label, scores, 0.0), axis=-1)
    mean_score = tf.reduce_sum(scores * spread, axis=-1)
    loss = (
        tf.math.log(total)
        + best
        - (1 - smoothing) * label_score
        - smoothing * mean_score
    )
    target = smoothing * spread + tf.where(is_label, 1 - smoothing, 0.0)
    by_logits = tf.cast(weights / total[..., None] - target, logits.dtype)
    return loss, label_score == best, by_logits


def masked_sum(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Sums float32 values where the mask is True; others may be anything.

    >>> masked_sum(tf.constant([1.0, float("nan"), 2.0]),
    ...            tf.constant([True, False, True])).numpy().item()
    3.0
    """
    return tf.reduce_sum(tf.where(mask, values, 0.0))


def count(mask: tf.Tensor) -> tf.Tensor:
    """Counts the True elements as a float32 scalar."""
    return tf.math.count_nonzero(mask, dtype=tf.float32)


def sentence_starts(batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """Returns where each sentence of the packed sources starts.

    Args:
        batch: int32 `[rows, length]` tensors, `source_segments`, sentence numbers, 0
            at padding, and `source_positions`, 0 at each sentence's start.

    Returns:
        bool `[rows, length]`, True once per sentence.
    """
    return (batch["source_segments"] > 0) & (batch["source_positions"] == 0)


def length_labels(source_segments: tf.Tensor, target_segments: tf.Tensor) -> tf.Tensor:
    """Returns the class of each sentence's target length, N - 1.

    Kreutzer et al. (2020), section 2: the classifier predicts N.

    Args:
        source_segments: int32 `[rows, sources]`, sentence numbers, 0 at
            padding.
        target_segments: int32 `[rows, targets]`, likewise.

    Returns:
        int32 `[rows, sources]`, at each source position N - 1 of the sentence
        that it belongs to; 0 for an empty target; means nothing at padding.

    >>> length_labels(tf.constant([[1, 1, 2, 0]]),
    ...               tf.constant([[1, 2, 2, 2]])).numpy().tolist()
    [[0, 0, 2, 0]]
    """
    same = source_segments[:, :, None] == target_segments[:, None, :]
    num_targets = tf.math.count_nonzero(same, axis=-1, dtype=tf.int32)
    return tf.maximum(num_targets - 1, 0)
