"""Iterative unmasking: the loop under every heuristic and update strategy.

Kreutzer et al. (2020), section 3. Decoding starts from a target of nothing but
masks. In each pass the model predicts a token for every masked position, the
update strategy says which positions take theirs, and the heuristic says which
become observed. The loop knows no model: it calls `predict_fn`.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from cmlm_tf.decoding.repeats import weaker_repeats
from cmlm_tf.decoding.scores import length_normalized_score
from cmlm_tf.decoding.strategies import UpdateMaskedSub, UpdateStrategy

PredictFn = Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]
HeuristicFn = Callable[[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]


@dataclasses.dataclass(frozen=True)
class Unmasking:
    """How the loop unmasks: by which rule, under which strategy, for how long.

    Attributes:
        heuristic: maps `(log_probs, candidates, valid, iteration)` to the
            positions that become observed; see `cmlm_tf.decoding.heuristics`.
        strategy: which positions may be rewritten, which may be masked again.
        max_iterations: int32 scalar or `[rows]`, at least 1: in this pass every
            position still masked is written with its prediction. None is the
            number of positions, which is enough for `UpdateMaskedSub`.
        drop_losing_candidates: give up a row as soon as no future log-probability
            can bring its score up to that of a finished candidate of its
            sentence. The best candidate stays the same.
        forbid_repeats: leave a position masked whose token a neighbour gets in the
            same pass with a higher log-probability (of equal ones, the left one's
            counts as higher). Not in the last allowed pass. More passes may be
            needed then; every one still unmasks a position.
        trace: record the state after each pass; memory for `max_iterations`
            passes, the most of any row, is taken.

    Raises:
        ValueError: candidates are to be dropped under a strategy that may
            rewrite a token.
    """

    heuristic: HeuristicFn
    strategy: UpdateStrategy = UpdateMaskedSub()
    max_iterations: int | tf.Tensor | None = None
    drop_losing_candidates: bool = False
    forbid_repeats: bool = False
    trace: bool = False

    def __post_init__(self) -> None:
        is_sub = isinstance(self.strategy, UpdateMaskedSub)
        if self.drop_losing_candidates and not is_sub:
            raise ValueError(
                "drop_losing_candidates needs UpdateMaskedSub: under "
                f"{type(self.strategy).__name__} a score can rise again"
            )

    def most_passes(self, length: int | tf.Tensor) -> tf.Tensor:
        """Returns the bound of the passes over rows of a length, int32."""
        most = length if self.max_iterations is None else self.max_iterations
        return tf.cast(most, tf.int32)


class UnmaskTrace(NamedTuple):
    """The state after each pass; a row's later passes repeat its final state.

    Attributes:
        token_ids: int32 `[rows, passes, length]`, the filled-in sequence: the
            latest prediction at masked positions, PAD at padding.
        log_probs: float32 `[rows, passes, length]`, those of `token_ids`, 0 at
            padding.
        mask: bool `[rows, passes, length]`, True where masked after the pass.
    """

    token_ids: tf.Tensor
    log_probs: tf.Tensor
    mask: tf.Tensor


class UnmaskResult(NamedTuple):
    """What `iterative_unmask` returns.

    Attributes:
        token_ids: int32 `[rows, length]`, PAD at padding.
        log_probs: float32 `[rows, length]`, natural logs, with which the tokens
            were written; 0 at padding and where the token was given.
        num_iterations: int32 `[rows]`, the passes in which a row was active.
        dropped: bool `[rows]`, True where a row was given up before its end as
            it could only lose; its tokens are unfinished.
        trace: the state after each pass, or None.
    """

    token_ids: tf.Tensor
    log_probs: tf.Tensor
    num_iterations: tf.Tensor
    dropped: tf.Tensor
    trace: UnmaskTrace | None = None


class _State(NamedTuple):
    """What a pass hands to the next.

    Attributes:
        iteration: int32 scalar, the number of the next pass, from 1.
        token_ids: int32 `[rows, length]`, at masked positions the latest
            prediction, which the model does not see.
        log_probs: float32 `[rows, length]`, those of `token_ids`.
        mask: bool `[rows, length]`, True where masked.
        num_iterations: int32 `[rows]`.
        dropped: bool `[rows]`.
        trace: an `UnmaskTrace`, or () without one.
    """

    iteration: tf.Tensor
    token_ids: tf.Tensor
    log_probs: tf.Tensor
    mask: tf.Tensor
    num_iterations: tf.Tensor
    dropped: tf.Tensor
    trace: UnmaskTrace | tuple[()] = ()


def iterative_unmask(
    predict_fn: PredictFn,
    valid: tf.Tensor,
    unmasking: Unmasking,
    *,
    mask_id: int,
    pad_id: int,
    initial_ids: tf.Tensor | None = None,
    candidates_per_sentence: int | tf.Tensor = 1,
) -> UnmaskResult:
    """Fills in the masked positions of every row over a number of passes.

    Kreutzer et al. (2020), section 3. Runs eagerly, in a graph with or without
    autograph, and under XLA; shapes may be unknown except under XLA. A row is
    finished when nothing in it is masked, and does not change from then on.

    Args:
        predict_fn: maps `(input_ids, wanted)` to `(ids, log_probs)`, all
            `[rows, length]`: int32 decoder inputs with `mask_id` where masked
            and `pad_id` at padding, and bool, True where the prediction will be
            used; to the int32 most probable tokens and their float32 natural
            log-probabilities, at most 0.
        valid: bool `[rows, length]`, True where not padding.
        unmasking: what a pass unmasks, and when the loop ends.
        mask_id: the id of MASK.
        pad_id: the id of PAD.
        initial_ids: int32 `[rows, length]`, a partly observed target: positions
            that hold `mask_id` are to be filled in. `UpdateMaskedSub` keeps all
            others; their log-probability is 0. None: nothing is observed.
        candidates_per_sentence: how many consecutive rows are the length
            candidates of one sentence.

    Returns:
        The result; its `token_ids` hold no `mask_id` unless predicted.
    """
    valid = tf.convert_to_tensor(valid)
    most_passes = unmasking.most_passes(tf.shape(valid)[1])

    def one_pass(state: _State) -> tuple[_State]:
        input_ids = tf.where(state.mask, mask_id, state.token_ids)
        rewritable = unmasking.strategy.rewritable(state.mask, valid)
        rewritable &= _is_active(state)[:, tf.newaxis]
        state = _write(state, rewritable, *predict_fn(input_ids, rewritable))
        is_last = tf.reshape(state.iteration >= most_passes, [-1, 1])
        state = _unmask(state, unmasking, valid, rewritable, is_last)
        if unmasking.drop_losing_candidates:
            dropped = _find_losing(state, valid, candidates_per_sentence)
            state = state._replace(dropped=dropped)
        if isinstance(state.trace, UnmaskTrace):
            state = state._replace(trace=_record(state, state.trace))
        return (state._replace(iteration=state.iteration + 1),)

    state = _initial_state(valid, initial_ids, mask_id, pad_id)
    if unmasking.trace:
        repeats = [1, tf.reduce_max(most_passes), 1]
        trace = tf.nest.map_structure(lambda x: tf.tile(x, repeats), _traced(state))
        state = state._replace(trace=trace)
    (state,) = tf.while_loop(
        lambda state: tf.reduce_any(_is_active(state)), one_pass, (state,)
    )
    kept = state.token_ids, state.log_probs, state.num_iterations, state.dropped
    return UnmaskResult(*kept, state.trace or None)


def _initial_state(
    valid: tf.Tensor, initial_ids: tf.Tensor | None, mask_id: int, pad_id: int
) -> _State:
    if initial_ids is None:
        initial_ids = tf.fill(tf.shape(valid), mask_id)
    token_ids = tf.where(valid, initial_ids, pad_id)
    mask = token_ids == mask_id
    rows = tf.shape(valid)[:1]
    return _State(
        iteration=tf.constant(1),
        token_ids=token_ids,
        log_probs=tf.zeros_like(token_ids, tf.float32),
        mask=mask,
        num_iterations=tf.zeros(rows, tf.int32),
        dropped=tf.zeros(rows, tf.bool),
    )


def _is_active(state: _State) -> tf.Tensor:
    """Returns bool `[rows]`, True where a row takes part in the next pass."""
    return tf.reduce_any(state.mask, axis=1) & ~state.dropped


def _write(
    state: _State, rewritable: tf.Tensor, ids: tf.Tensor, log_probs: tf.Tensor
) -> _State:
    """Writes the predictions over what the pass may change."""
    token_ids = tf.where(rewritable, ids, state.token_ids)
    log_probs = tf.where(rewritable, log_probs, state.log_probs)
    # A loop keeps its shapes: what predict_fn, or a heuristic, lost is restored.
    shape = state.token_ids.shape
    return state._replace(
        token_ids=tf.ensure_shape(token_ids, shape),
        log_probs=tf.ensure_shape(log_probs, shape),
    )


def _unmask(
    state: _State,
    unmasking: Unmasking,
    valid: tf.Tensor,
    rewritable: tf.Tensor,
    is_last: tf.Tensor,
) -> _State:
    """Takes the mask off what the heuristic chooses, or off all in the last pass."""
    is_active = _is_active(state)
    candidates = unmasking.strategy.candidates(state.mask, valid)
    observed = unmasking.heuristic(state.log_probs, candidates, valid, state.iteration)
    if unmasking.forbid_repeats:
        written = observed & rewritable
        observed &= ~weaker_repeats(state.token_ids, state.log_probs, written)
    masked = candidates & ~observed & ~is_last
    mask = tf.where(is_active[:, tf.newaxis], masked, state.mask)
    return state._replace(
        mask=tf.ensure_shape(mask, state.mask.shape),
        num_iterations=state.num_iterations + tf.cast(is_active, tf.int32),
    )


def _find_losing(
    state: _State, valid: tf.Tensor, candidates_per_sentence: int | tf.Tensor
) -> tf.Tensor:
    """Finds the rows that a finished row of the same sentence is sure to beat.

    Further log-probabilities are at most 0, so the score of what is observed so
    far is an upper bound of the final one.

    Returns:
        bool `[rows]`, True also where dropped before.
    """
    written = tf.where(state.mask, 0.0, state.log_probs)
    bounds = length_normalized_score(written, valid)
    finished = ~tf.reduce_any(state.mask, axis=1)
    # [rows] -> [sentences, candidates]
    by_sentence = [-1, candidates_per_sentence]
    final = tf.reshape(tf.where(finished, bounds, -math.inf), by_sentence)
    best = tf.reduce_max(final, axis=1, keepdims=True)
    losing = tf.reshape(bounds, by_sentence) < best
    # [sentences, candidates] -> [rows]
    losing = tf.reshape(losing, tf.shape(finished))
    return state.dropped | (losing & ~finished)


def _traced(state: _State) -> UnmaskTrace:
    """Returns what a trace keeps of a state, `[rows, 1, length]`."""
    kept = state.token_ids, state.log_probs, state.mask
    return UnmaskTrace(*(x[:, tf.newaxis] for x in kept))


def _record(state: _State, trace: UnmaskTrace) -> UnmaskTrace:
    """Writes the state over this pass and all later ones."""
    passes = tf.range(1, tf.shape(trace.mask)[1] + 1)[:, tf.newaxis]
    is_now_or_later = passes >= state.iteration
    return tf.nest.map_structure(
        lambda new, before: tf.where(is_now_or_later, new, before),
        _traced(state),
        trace,
    )
