"""From subword ids of sources to subword ids of translations, as one graph."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from cmlm_tf.decoding.beam_search import BeamResult, beam_search
from cmlm_tf.decoding.forced import Forced
from cmlm_tf.decoding.lengths import select_best, valid_positions
from cmlm_tf.decoding.loop import Heuristic, UnmaskTrace, iterative_unmask
from cmlm_tf.decoding.scores import length_normalized_score
from cmlm_tf.decoding.strategies import UpdateMaskedSub, UpdateStrategy
from cmlm_tf.modeling.output import ban, best_tokens, given_tokens
from cmlm_tf.modeling.student import ConditionalMaskedLM, ReadFn, SourceCache
from cmlm_tf.modeling.teacher import AutoregressiveTransformer
from cmlm_tf.special_ids import BOS_ID, EOS_ID, MASK_ID, PAD_ID


class StudentResult(NamedTuple):
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
    trace: UnmaskTrace | None


def unmask_sentences(
    student: ConditionalMaskedLM,
    cache: SourceCache,
    lengths: tf.Tensor,
    heuristic: Heuristic,
    strategy: UpdateStrategy,
    *,
    max_iterations: int | tf.Tensor,
    static_length: int | tf.Tensor | None = None,
    one_size: bool = False,
    drop_losing_candidates: bool = False,
    forbid_repeats: bool = False,
    trace: bool = False,
    initial_ids: tf.Tensor | None = None,
    banned_there: tuple[tf.Tensor, Sequence[int]] | None = None,
    forced_ids: tf.Tensor | None = None,
) -> StudentResult:
    """Decodes every length candidate of every sentence, side by side.

    Args:
        student: the model.
        cache: of the sources, from `student.start`.
        lengths: int32 `[batch, candidates]`; 0 is no candidate.
        heuristic: chooses what to unmask; its parameters are scalars or one
            per sentence and candidate, `[batch * candidates]`.
        strategy: the update strategy.
        max_iterations: bound of the passes, a scalar or `[batch * candidates]`.
        static_length: length of the target grid where all shapes must be
            static (XLA), at least the largest length.
        one_size: whether then each pass computes in the same shapes, however few
            positions are left; see `ConditionalMaskedLM.predict_fn`.
        drop_losing_candidates: whether candidates that cannot win any more
            stop early; their scores are -inf then.
        forbid_repeats: whether neighbours may not get the same token in one pass;
            see `iterative_unmask`.
        trace: whether to keep every pass.
        initial_ids: int32 `[batch, candidates, length]`, targets with MASK where
            a subword is to be written; what else they hold is kept and has no
            part in the scores. Needs `UpdateMaskedSub`.
        banned_there: bool `[batch, candidates, length]`, True at positions where
            more is banned than elsewhere, and the ids that are; not with
            `forced_ids`.
        forced_ids: int32 `[batch, candidates, length]`, what is written in place
            of the model's choice; see `Forced`.

    Returns:
        The candidates with their scores and iterations.
    """
    candidates = tf.shape(lengths)[1] if lengths.shape[1] is None else lengths.shape[1]
    length = tf.reduce_max(lengths) if static_length is None else static_length
    valid = valid_positions(tf.reshape(lengths, [-1]), length)
    if isinstance(strategy, UpdateMaskedSub):  # needs no more passes than tokens
        max_iterations = tf.minimum(max_iterations, length)
    static, scored = static_length is not None, valid
    if initial_ids is not None:
        initial_ids = tf.reshape(initial_ids, tf.shape(valid))
        scored &= initial_ids == MASK_ID
    if forced_ids is None:
        read_fn = banned_there and _stricter_reader(student.banned_ids, *banned_there)
        predict_fn = student.predict_fn(
            cache, candidates, static, read_fn, one_size=one_size
        )
    else:
        forced_ids = tf.reshape(forced_ids, tf.shape(valid))
        read_fn = _reader(student.banned_ids, forced_ids)
        dtypes = (tf.int32, tf.float32, tf.float32)
        forced = Forced(
            student.predict_fn(cache, candidates, static, read_fn, dtypes, one_size)
        )
        predict_fn, heuristic = forced.predict, forced.heuristic(heuristic)
    result = iterative_unmask(
        predict_fn,
        valid,
        heuristic,
        strategy,
        mask_id=MASK_ID,
        pad_id=PAD_ID,
        max_iterations=max_iterations,
        initial_ids=initial_ids,
        candidates_per_sentence=candidates,
        drop_losing_candidates=drop_losing_candidates,
        forbid_repeats=forbid_repeats,
        trace=trace,
    )
    scores = length_normalized_score(result.log_probs, scored)
    scores = tf.where(result.dropped, float("-inf"), scores)

    def per_sentence(x):
        if x is None:  # no trace
            return None
        return tf.reshape(x, tf.concat([tf.shape(lengths), tf.shape(x)[1:]], 0))

    scores = per_sentence(scores)
    return StudentResult(
        best=select_best(scores),
        lengths=lengths,
        token_ids=per_sentence(result.token_ids),
        log_probs=per_sentence(result.log_probs),
        scores=scores,
        num_iterations=per_sentence(result.num_iterations),
        trace=tf.nest.map_structure(per_sentence, result.trace),
    )


def _stricter_reader(
    banned_ids: Sequence[int], places: tf.Tensor, banned_there: Sequence[int]
) -> ReadFn:
    """Returns what reads the best ids, of fewer at some places.

    Args:
        banned_ids: everywhere.
        places: bool `[batch, candidates, length]`.
        banned_there: banned at these places, too.
    """
    flat = tf.reshape(places, [-1, tf.shape(places)[2]])

    def read(logits, pack):
        is_there = pack(flat)[:, tf.newaxis]
        return best_tokens(
            tf.where(is_there, ban(logits, banned_there), logits), banned_ids
        )

    return read


def _reader(banned_ids: Sequence[int], forced_ids: tf.Tensor) -> ReadFn:
    """Returns what reads forced ids `[rows, length]` off the logits."""

    def read(logits, pack):
        given = pack(forced_ids)
        return given, *given_tokens(logits, banned_ids, given)

    return read


def search_sentences(
    teacher: AutoregressiveTransformer,
    source_ids: tf.Tensor,
    *,
    beam_size: int,
    alpha: float | tf.Tensor,
    limits: tf.Tensor | None = None,
    static_length: int | None = None,
) -> BeamResult:
    """Translates by beam search; a beam of one is greedy search.

    Args:
        teacher: the model.
        source_ids: int32 `[batch, sources]`, each ends in EOS, PAD behind.
        beam_size: hypotheses kept per sentence.
        alpha: exponent of the length penalty.
        limits: int32 `[batch]`, the most subwords of each hypothesis; None
            derives them from the sources' lengths.
        static_length: the most subwords of any hypothesis where all shapes
            must be static (XLA).

    Returns:
        The best hypothesis of every sentence.
    """
    source_lengths = tf.reduce_sum(tf.cast(source_ids != PAD_ID, tf.int32), axis=1)
    longest = static_length or teacher.config.max_length - 1
    max_steps = None
    if static_length is not None:
        # A GPU's matrix products want a multiple of eight of what hypotheses look at.
        max_steps = -(-(static_length + 1) // 8) * 8
    if limits is None:
        limits = longest_translation(source_lengths)
    limits = tf.where(source_lengths > 0, tf.minimum(limits, longest), 0)

    def step(ids, time, ancestors, cache):
        growing = max_steps is None
        logits, cache = teacher.step(ids, time, ancestors, cache, growing)
        return ban(logits, teacher.banned_ids), cache

    return beam_search(
        step,
        teacher.start(source_ids, beam_size, max_steps),
        limits,
        beam_size=beam_size,
        alpha=alpha,
        bos_id=BOS_ID,
        eos_id=EOS_ID,
        pad_id=PAD_ID,
        max_steps=max_steps,
    )


def longest_translation(source_length: Any) -> Any:
    """Returns how many subwords a teacher may write for a source of that length.

    >>> longest_translation(20)
    50
    """
    return 2 * source_length + 10
