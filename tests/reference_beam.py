"""A plain Python beam search without a cache: the oracle of the fast one."""

import numpy as np


def penalty(length, alpha):
    """((5 + length) / 6) ** alpha."""
    return np.float32(((5 + length) / 6) ** alpha)


def reference_beam_search(next_log_probs, limit, beam_size, alpha, eos_id):
    """Returns (tokens, score) of the best hypothesis of one sentence.

    Args:
        next_log_probs: maps a list of prefixes (tuples of ids) to float32
            `[prefixes, vocab_size]`.
        limit: most tokens before EOS.
        beam_size: hypotheses kept.
        alpha: exponent of the length penalty.
        eos_id: ends a hypothesis.
    """
    alive, finished = [((), np.float32(0))], []
    for time in range(limit + 1):
        table = next_log_probs([prefix for prefix, _ in alive])
        continuations = []
        for slot, (prefix, total) in enumerate(alive):
            for token, log_prob in enumerate(table[slot]):
                if log_prob == -np.inf or (time == limit and token != eos_id):
                    continue
                if time == 0 < limit and token == eos_id:
                    continue
                score = np.float32(total + log_prob)
                continuations.append((-score, slot, token, prefix))
        continuations.sort(key=lambda c: c[:3])
        continuations = continuations[: 2 * beam_size]
        for negative, _, token, prefix in continuations[:beam_size]:
            if token == eos_id:
                finished.append((-negative / penalty(time + 1, alpha), prefix))
        alive = [
            ((*prefix, token), -negative)
            for negative, _, token, prefix in continuations
            if token != eos_id
        ][:beam_size]
        if len(finished) >= beam_size or not alive:
            break
    score, tokens = max(finished, key=lambda hypothesis: hypothesis[0])
    return list(tokens), float(score)
