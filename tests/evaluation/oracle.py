"""BLEU written out from Papineni et al. (2002), for the tests."""

import collections
import math


def corpus_bleu(hypotheses, references):
    """BLEU-4 of token lists, one reference each, without smoothing."""
    log_precisions = []
    for order in range(1, 5):
        matched = total = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            found, allowed = _ngrams(hypothesis, order), _ngrams(reference, order)
            matched += sum(min(count, allowed[gram]) for gram, count in found.items())
            total += max(len(hypothesis) - order + 1, 0)
        if matched == 0:
            return 0.0
        log_precisions.append(math.log(matched / total))
    hypothesis_length = sum(map(len, hypotheses))
    reference_length = sum(map(len, references))
    log_penalty = min(0.0, 1 - reference_length / hypothesis_length)
    return 100 * math.exp(log_penalty + sum(log_precisions) / 4)


def _ngrams(tokens, order):
    starts = range(len(tokens) - order + 1)
    return collections.Counter(tuple(tokens[i : i + order]) for i in starts)
