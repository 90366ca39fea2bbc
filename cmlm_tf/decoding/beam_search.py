"""Beam search over an autoregressive model; a beam of one is greedy search.

The rule is that of common toolkits. Among the `2 * beam` best continuations of a
sentence's hypotheses, those that end with EOS and rank in the upper half finish; the
best others live on. No hypothesis is empty. A sentence is done when `beam` hypotheses
have finished, when its limit is reached (then EOS is the only continuation) or when no
living one can beat the best finished one, by log-probability over length penalty.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from cmlm_tf.decoding.top_k import blockwise_top_k

TopK = Callable[[tf.Tensor, int], tuple[tf.Tensor, tf.Tensor]]
StepFn = Callable[[tf.Tensor, tf.Tensor, tf.Tensor, Any], tuple[tf.Tensor, Any]]


class Beam(NamedTuple):
    """The settings of a search.

    Attributes:
        size: hypotheses kept per sentence.
        alpha: exponent of the length penalty.
        bos_id: fed first.
        eos_id: ends a hypothesis.
        pad_id: fills the result behind the end.
    """

    size: int
    alpha: float | tf.Tensor
    bos_id: int
    eos_id: int
    pad_id: int


class BeamResult(NamedTuple):
    """The best hypothesis of every sentence.

    Attributes:
        token_ids: int32 `[batch, max(limits)]`, without EOS, PAD behind.
        lengths: int32 `[batch]`, subwords without EOS.
        scores: float32 `[batch]`, log-probability, EOS included, divided by
            the length penalty.
    """

    token_ids: tf.Tensor
    lengths: tf.Tensor
    scores: tf.Tensor


class _State(NamedTuple):
    """The loop's state; `live` sentences, `times` = max(limits) + 1.

    Attributes:
        time: int32 scalar, number of subwords in every living hypothesis.
        sentences: int32 `[live]`, each one's place in the batch.
        last_ids: int32 `[live, beam]`, the last subword, BOS at first.
        log_probs: float32 `[live, beam]`, -inf where no hypothesis is.
        history: int32 `[live, beam, times]`, the subwords written.
        ancestors: int32 `[live, beam, times]`, the slot in which each
            subword's predecessor was fed.
        num_finished: int32 `[live]`.
        done: bool `[live]`.
        best: the best finished hypothesis, first axis `live`.
        result: what left the loop, first axis batch.
        cache: the model's, first axis of each tensor `live`.
    """

    time: tf.Tensor
    sentences: tf.Tensor
    last_ids: tf.Tensor
    log_probs: tf.Tensor
    history: tf.Tensor
    ancestors: tf.Tensor
    num_finished: tf.Tensor
    done: tf.Tensor
    best: BeamResult
    result: BeamResult
    cache: Any


def longest_hypothesis(source_length: Any) -> Any:
    """Returns how many subwords a hypothesis may have for a source of a length.

    >>> longest_hypothesis(20)
    50
    """
    return 2 * source_length + 10


def length_penalty(lengths: tf.Tensor, alpha: float | tf.Tensor) -> tf.Tensor:
    """The length penalty of Wu et al. (2016), equation 14.

    Args:
        lengths: int32 of any shape, subwords, EOS included.
        alpha: its exponent; 0 is no penalty.

    Returns:
        float32 of the same shape, `((5 + length) / 6) ** alpha`.

    >>> length_penalty(tf.constant([1, 7]), 1.0).numpy().tolist()
    [1.0, 2.0]
    """
    return ((5.0 + tf.cast(lengths, tf.float32)) / 6.0) ** alpha


def beam_search(
    step_fn: StepFn,
    cache: Any,
    limits: tf.Tensor,
    beam: Beam,
    max_steps: int | None = None,
) -> BeamResult:
    """Finds the best hypothesis of every sentence.

    Args:
        step_fn: maps `ids` int32 `[live, beam]`, `time` int32 scalar,
            `ancestors` int32 `[live, beam, times]` and the cache to float32
            logits `[live, beam, vocab_size]`, -inf where banned, and the new
            cache.
        cache: nested tensors whose first axis is the batch.
        limits: int32 `[batch]`, the most subwords of each hypothesis.
        beam: its size, its length penalty and the ids that it needs.
        max_steps: with a number, at least max(limits) + 1, all shapes stay
            static (XLA) and `ancestors` always has `max_steps` times. Without,
            sentences that are done leave the batch and `ancestors` ends at
            the current time.

    Returns:
        The best hypothesis of every sentence.
    """
    static = max_steps is not None
    times = max_steps or tf.reduce_max(limits) + 1
    state = _initial_state(cache, tf.size(limits), times, beam)

    def body(state: _State) -> tuple[_State]:
        known = state.ancestors if static else state.ancestors[:, :, : state.time + 1]
        logits, new_cache = step_fn(state.last_ids, state.time, known, state.cache)
        limit = tf.gather(limits, state.sentences)
        state = _advance(
            state._replace(cache=new_cache),
            *(logits, limit, beam),
            top_k=blockwise_top_k if static else tf.math.top_k,
        )
        if static:
            return (state,)
        leaving = tf.reduce_any(state.done)
        return (tf.cond(leaving, lambda: _leave(state), lambda: state),)

    (state,) = tf.while_loop(
        lambda state: ~tf.reduce_all(state.done),
        body,
        (state,),
        shape_invariants=None if static else (_shape_invariants(state),),
    )
    result = _record(state)
    return result._replace(token_ids=result.token_ids[:, : times - 1])


def _initial_state(
    cache: Any, batch: tf.Tensor, times: int | tf.Tensor, beam: Beam
) -> _State:
    slots = tf.zeros([batch, beam.size, times], tf.int32) + tf.range(beam.size)[:, None]
    first = tf.where(tf.range(beam.size) == 0, 0.0, float("-inf"))
    nothing = BeamResult(
        token_ids=tf.fill([batch, times], beam.pad_id),
        lengths=tf.zeros([batch], tf.int32),
        scores=tf.fill([batch], float("-inf")),
    )
    return _State(
        time=tf.constant(0),
        sentences=tf.range(batch),
        last_ids=tf.fill([batch, beam.size], beam.bos_id),
        log_probs=tf.zeros([batch, 1]) + first,
        history=tf.fill([batch, beam.size, times], beam.pad_id),
        ancestors=slots,
        num_finished=tf.zeros([batch], tf.int32),
        done=tf.zeros([batch], tf.bool),
        best=nothing,
        result=nothing,
        cache=cache,
    )


def _advance(
    state: _State, logits: tf.Tensor, limit: tf.Tensor, beam: Beam, top_k: TopK
) -> _State:
    """Extends every hypothesis by one subword."""
    at_limit = (state.time >= limit)[:, None, None]
    only_eos = tf.range(logits.shape[-1]) == beam.eos_id
    norm = tf.reduce_logsumexp(logits, axis=-1, keepdims=True)
    is_empty = (state.time == 0) & ~at_limit
    allowed = tf.where(only_eos, ~is_empty, ~at_limit)
    logits = tf.where(allowed, logits, float("-inf"))
    log_probs, parents, ids = _best_continuations(state.log_probs, logits, norm, top_k)

    ends = ids == beam.eos_id
    finishing = ends[:, : beam.size] & (log_probs[:, : beam.size] > float("-inf"))
    finishing &= ~state.done[:, None]
    scores = log_probs[:, : beam.size] / length_penalty(state.time + 1, beam.alpha)
    scores = tf.where(finishing, scores, float("-inf"))
    best = _better(state, scores, parents)

    living = tf.where(ends, float("-inf"), log_probs)
    living, kept = tf.math.top_k(living, beam.size)
    parents = tf.gather(parents, kept, batch_dims=1)
    ids = tf.gather(ids, kept, batch_dims=1)
    history = tf.gather(state.history, parents, batch_dims=1)
    times = tf.range(tf.shape(history)[2])
    ancestors = tf.gather(state.ancestors, parents, batch_dims=1)

    num_finished = state.num_finished + tf.reduce_sum(tf.cast(finishing, tf.int32), 1)
    bound = living[:, 0] / length_penalty(limit + 1, beam.alpha)
    done = state.done | (num_finished >= beam.size) | (state.time >= limit)
    return state._replace(
        time=state.time + 1,
        last_ids=tf.where(living > float("-inf"), ids, beam.pad_id),
        log_probs=living,
        history=tf.where(times == state.time, ids[:, :, None], history),
        ancestors=tf.where(
            times <= state.time, ancestors, tf.range(beam.size)[None, :, None]
        ),
        num_finished=num_finished,
        done=done | (best.scores >= bound),
        best=best,
    )


def _best_continuations(
    log_probs: tf.Tensor, logits: tf.Tensor, norm: tf.Tensor, top_k: TopK
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Finds the `2 * beam` best continuations of each sentence, best first.

    Their log-probabilities, parent slots and subword ids are `[live, 2 * beam]`.
    """
    beam, vocab_size = logits.shape[1], logits.shape[2]
    per_parent = min(2 * beam, vocab_size)
    logits, ids = top_k(logits, per_parent)
    totals = log_probs[:, :, None] + (logits - norm)
    flat_shape = [-1, beam * per_parent]
    best, places = tf.math.top_k(
        tf.reshape(totals, flat_shape), min(2 * beam, beam * per_parent)
    )
    ids = tf.gather(tf.reshape(ids, flat_shape), places, batch_dims=1)
    return best, places // per_parent, ids


def _better(state: _State, scores: tf.Tensor, parents: tf.Tensor) -> BeamResult:
    """Keeps the best finished hypothesis; the earlier one wins a tie."""
    slot = tf.argmax(scores, axis=1, output_type=tf.int32)
    score = tf.gather(scores, slot, batch_dims=1)
    parent = tf.gather(parents, slot, batch_dims=1)
    better = score > state.best.scores
    token_ids = tf.gather(state.history, parent, batch_dims=1)
    return BeamResult(
        token_ids=tf.where(better[:, None], token_ids, state.best.token_ids),
        lengths=tf.where(better, state.time, state.best.lengths),
        scores=tf.where(better, score, state.best.scores),
    )


def _record(state: _State) -> BeamResult:
    """Writes the best hypotheses of the live sentences to their places."""
    places = state.sentences[:, None]
    return tf.nest.map_structure(
        lambda all_, live: tf.tensor_scatter_nd_update(all_, places, live),
        state.result,
        state.best,
    )


def _leave(state: _State) -> _State:
    """Records the live sentences and drops those that are done."""
    kept = tf.where(~state.done)[:, 0]
    live = state._asdict()
    time, result = live.pop("time"), live.pop("result")
    live = tf.nest.map_structure(lambda x: tf.gather(x, kept), live)
    return _State(time=time, result=_record(state._replace(result=result)), **live)


def _shape_invariants(state: _State) -> Any:
    """Lets the live sentences and the cache's times vary."""

    def free(tensor: tf.Tensor) -> tf.TensorShape:
        rank = tensor.shape.rank
        return tf.TensorShape([None] * min(rank, 3) + tensor.shape.as_list()[3:])

    beam = state.last_ids.shape[1]
    return tf.nest.map_structure(free, state)._replace(
        last_ids=tf.TensorShape([None, beam]),
        log_probs=tf.TensorShape([None, beam]),
        history=tf.TensorShape([None, beam, None]),
        ancestors=tf.TensorShape([None, beam, None]),
        result=tf.nest.map_structure(lambda x: x.shape, state.result),
    )
