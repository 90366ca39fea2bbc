"""Length candidates: all are decoded side by side, and the best one is chosen.

Kreutzer et al. (2020), section 3: of the b most probable target lengths, each is
filled in by itself, and the hypothesis with the highest length-normalised score is
the translation.
"""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from cmlm_tf.decoding.loop import (
    PredictFn,
    Unmasking,
    UnmaskTrace,
    iterative_unmask,
)
from cmlm_tf.decoding.scores import length_normalized_score
from cmlm_tf.decoding.strategies import UpdateMaskedSub


class Candidates(NamedTuple):
    """All length candidates of every sentence; `best` names the translation.

    Attributes:
        best: int32 `[batch]`, the candidate with the highest score.
        lengths: int32 `[batch, candidates]`, 0 where there is no candidate.
        token_ids: int32 `[batch, candidates, length]`, PAD behind the end.
        log_probs: float32 `[batch, candidates, length]`, natural
            log-probability with which each subword was written; 0 at padding.
        scores: float32 `[batch, candidates]`, mean of `log_probs`; -inf where
            there is no candidate or it was dropped.
        num_iterations: int32 `[batch, candidates]`.
        trace: every pass, `[batch, candidates, passes, length]`, or None.
    """

    best: tf.Tensor
    lengths: tf.Tensor
    token_ids: tf.Tensor
    log_probs: tf.Tensor
    scores: tf.Tensor
    num_iterations: tf.Tensor
    trace: UnmaskTrace | None = None


def unmask_candidates(
    predict_fn: PredictFn,
    lengths: tf.Tensor,
    unmasking: Unmasking,
    *,
    mask_id: int,
    pad_id: int,
    length: int | tf.Tensor | None = None,
    initial_ids: tf.Tensor | None = None,
) -> Candidates:
    """Decodes every length candidate of every sentence, side by side.

    Args:
        predict_fn: the model, as `iterative_unmask` calls it, with a row for each
            candidate: those of a sentence follow each other.
        lengths: int32 `[batch, candidates]`; 0 is no candidate.
        unmasking: what a pass unmasks, and when the loop ends; its tensors are
            scalars or have one value for each candidate, `[batch * candidates]`.
        mask_id: the id of MASK.
        pad_id: the id of PAD.
        length: positions of the target grid, at least the largest of `lengths`;
            None is just that.
        initial_ids: int32 `[batch, candidates, length]`, targets with MASK where
            a subword is to be written; what else they hold is kept and has no
            part in the scores. Needs `UpdateMaskedSub`.

    Returns:
        The candidates with their scores and iterations.
    """
    candidates = lengths.shape[1] or tf.shape(lengths)[1]
    length = tf.reduce_max(lengths) if length is None else length
    valid = tf.sequence_mask(tf.reshape(lengths, [-1]), length)
    scored = valid
    if initial_ids is not None:
        initial_ids = tf.reshape(initial_ids, tf.shape(valid))
        scored &= initial_ids == mask_id
    result = iterative_unmask(
        predict_fn,
        valid,
        _no_longer_than_needed(unmasking, length),
        mask_id=mask_id,
        pad_id=pad_id,
        initial_ids=initial_ids,
        candidates_per_sentence=candidates,
    )
    scores = length_normalized_score(result.log_probs, scored)
    scores = tf.where(result.dropped, float("-inf"), scores)

    def by_sentence(x: tf.Tensor) -> tf.Tensor:
        return tf.reshape(x, tf.concat([tf.shape(lengths), tf.shape(x)[1:]], 0))

    scores = by_sentence(scores)
    return Candidates(
        best=best_candidate(scores),
        lengths=lengths,
        token_ids=by_sentence(result.token_ids),
        log_probs=by_sentence(result.log_probs),
        scores=scores,
        num_iterations=by_sentence(result.num_iterations),
        trace=result.trace and UnmaskTrace(*map(by_sentence, result.trace)),
    )


def _no_longer_than_needed(unmasking: Unmasking, length: int | tf.Tensor) -> Unmasking:
    """Bounds the passes where each of them is sure to write a position for good."""
    if not isinstance(unmasking.strategy, UpdateMaskedSub):
        return unmasking
    most = tf.minimum(unmasking.most_passes(length), length)
    return dataclasses.replace(unmasking, max_iterations=most)


def best_candidate(scores: tf.Tensor) -> tf.Tensor:
    """Selects each sentence's best length candidate.

    >>> best_candidate(tf.constant([[-0.5, -0.2, -0.2]])).numpy().tolist()
    [1]

    Args:
        scores: float32 `[batch, candidates]`; -inf where a candidate is invalid
            or was dropped.

    Returns:
        int32 `[batch]`, the index of the highest score, the first of equals.
    """
    # XLA sorts -0.0 behind 0.0.
    scores = tf.where(scores == 0.0, 0.0, scores)
    return tf.math.top_k(scores, k=1).indices[:, 0]
