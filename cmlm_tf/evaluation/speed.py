"""Tokens per iteration, the paper's measure of speed, in three counts."""

import dataclasses
from collections.abc import Sequence

from cmlm_tf.translate.results import Translation


@dataclasses.dataclass(frozen=True)
class TokensPerIteration:
    """Hypothesis subwords of a test set divided by the passes they took.

    Kreutzer et al. (2020), section 4.2. The length candidates of a sentence are
    decoded side by side, so the first count is the one that wall-clock time
    follows; the others say what one candidate and all of them cost.

    Attributes:
        slowest: a sentence counts the most passes that any candidate needed.
        selected: a sentence counts the passes of the candidate that was chosen.
        summed: a sentence counts the passes of all candidates.
    """

    slowest: float
    selected: float
    summed: float


def tokens_per_iteration(
    num_tokens: Sequence[int],
    iterations: Sequence[int],
    selected_iterations: Sequence[int],
    summed_iterations: Sequence[int],
) -> TokensPerIteration:
    """Computes the speed over a whole test set: a ratio of sums.

    Args:
        num_tokens: subwords of each sentence's chosen hypothesis.
        iterations: passes of each sentence's slowest candidate.
        selected_iterations: passes of each sentence's chosen candidate.
        summed_iterations: passes of all candidates of each sentence.

    Returns:
        The three ratios; each is 0.0 where no pass was made.

    Raises:
        ValueError: the sequences differ in length.

    >>> tokens_per_iteration([6, 2], [3, 1], [2, 1], [5, 3])
    TokensPerIteration(slowest=2.0, selected=2.6666666666666665, summed=1.0)
    """
    counts = (iterations, selected_iterations, summed_iterations)
    if any(len(passes) != len(num_tokens) for passes in counts):
        raise ValueError("every sentence needs one number in each count")
    return TokensPerIteration(*(_ratio(num_tokens, passes) for passes in counts))


def speed_of(translations: Sequence[Translation]) -> TokensPerIteration:
    """Computes the speed of a translated test set; see `tokens_per_iteration`."""
    return tokens_per_iteration(
        [t.num_tokens for t in translations],
        [t.iterations for t in translations],
        [t.selected_iterations for t in translations],
        [t.summed_iterations for t in translations],
    )


def _ratio(num_tokens: Sequence[int], passes: Sequence[int]) -> float:
    return sum(num_tokens) / sum(passes) if any(passes) else 0.0
