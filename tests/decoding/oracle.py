"""Plain Python counterparts of the heuristics, the strategies and the loop.

They work on one row at a time, on lists and sets, and follow the rules' words:
rank, then try the set sizes from the largest down. Sums of log-probabilities
are Python floats: exact for the tests' multiples of a power of two.
"""

import math


def ranked(log_probs, candidates):
    """The candidates, most probable first, ties from left to right."""
    return sorted(candidates, key=lambda i: (-log_probs[i], i))


def _largest_set(order, criterion):
    for k in range(len(order), 0, -1):
        if criterion(order[:k], order[k:]):
            return set(order[:k])
    return set(order[:1])


def thresh(log_probs, candidates, log_tau):
    above = {i for i in candidates if log_probs[i] > log_tau}
    return above or set(ranked(log_probs, candidates)[:1])


def comb_thresh(log_probs, candidates, log_tau):
    def joint_is_above(best, rest):
        del rest
        return sum(log_probs[i] for i in best) > log_tau

    return _largest_set(ranked(log_probs, candidates), joint_is_above)


def fcomb_value(log_probs, best, rest):
    """log(p(best) * (1 - p(rest))), -inf for a product of zero."""
    joint = sum(log_probs[i] for i in best)
    rest_is_wrong = -math.expm1(sum(log_probs[i] for i in rest))
    return joint + math.log(rest_is_wrong) if rest_is_wrong else -math.inf


def fcomb_thresh(log_probs, candidates, log_tau):
    def is_above(best, rest):
        return fcomb_value(log_probs, best, rest) > log_tau

    return _largest_set(ranked(log_probs, candidates), is_above)


def _best_until(log_probs, candidates, valid, num_observed):
    already = len(valid) - len(candidates)
    return set(ranked(log_probs, candidates)[: max(num_observed - already, 1)])


def mask_predict(log_probs, candidates, valid, t, num_iterations, floor=False):
    n = len(valid)
    if floor:
        num_observed = n - math.floor(n * max(num_iterations - t, 0) / num_iterations)
    else:
        per_pass = next(k for k in range(n + 1) if k * num_iterations >= n)
        num_observed = min(n, t * per_pass)
    return _best_until(log_probs, candidates, valid, num_observed)


def mask_predict_fixed_k(log_probs, candidates, valid, t, tokens_per_iteration):
    num_observed = min(len(valid), t * tokens_per_iteration)
    return _best_until(log_probs, candidates, valid, num_observed)


def log_of(tau):
    return math.log(tau) if tau > 0 else -math.inf


#: name -> function of (log_probs, candidates, valid, t, setting).
HEURISTICS = {
    "mask_predict": mask_predict,
    "fixed_k": mask_predict_fixed_k,
    "thresh": lambda p, c, v, t, tau: thresh(p, c, log_of(tau)),
    "comb_thresh": lambda p, c, v, t, tau: comb_thresh(p, c, log_of(tau)),
    "fcomb_thresh": lambda p, c, v, t, tau: fcomb_thresh(p, c, log_of(tau)),
}


def rewritable(strategy, masked, valid):
    return set(valid) if strategy == "update_all" else set(masked)


def candidates(strategy, masked, valid):
    return set(masked) if strategy == "update_masked_sub" else set(valid)


def weaker_repeats(ids, log_probs, written):
    """Those with an equal neighbour that ranks before them."""
    place = {i: rank for rank, i in enumerate(ranked(log_probs, written))}

    def is_weaker(i):
        neighbours = {i - 1, i + 1} & set(written)
        return any(ids[j] == ids[i] and place[j] < place[i] for j in neighbours)

    return {i for i in written if is_weaker(i)}


def unmask_row(
    predict,
    length,
    heuristic,
    setting,
    strategy,
    max_iterations,
    given=(),
    forbid_repeats=False,
):
    """Decodes one row without padding.

    Args:
        predict: maps a list of ids (None where masked) to (ids, log_probs).
        length: the number of positions.
        heuristic: a key of `HEURISTICS`.
        setting: T, K or tau.
        strategy: "update_all", "update_masked" or "update_masked_sub".
        max_iterations: the last pass.
        given: (position, id) pairs observed from the start.
        forbid_repeats: whether the weaker of equal neighbours stay masked.

    Returns:
        A list of states (ids, log_probs, masked), the first before any pass.
    """
    valid = list(range(length))
    ids, log_probs = [None] * length, [0.0] * length
    for position, token_id in given:
        ids[position] = token_id
    masked = {i for i in valid if ids[i] is None}
    states = [(list(ids), list(log_probs), set(masked))]
    for t in range(1, max_iterations + 1):
        if not masked:
            break
        seen = [None if i in masked else ids[i] for i in valid]
        new_ids, new_log_probs = predict(seen)
        written = rewritable(strategy, masked, valid)
        for i in written:
            ids[i], log_probs[i] = new_ids[i], new_log_probs[i]
        open_positions = candidates(strategy, masked, valid)
        observed = HEURISTICS[heuristic](log_probs, open_positions, valid, t, setting)
        if forbid_repeats:
            observed -= weaker_repeats(ids, log_probs, observed & written)
        masked = set() if t == max_iterations else open_positions - observed
        states.append((list(ids), list(log_probs), set(masked)))
    return states
