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


def tokens_per_iteration(translations: Sequence[Translation]) -> TokensPerIteration:
    """Computes the speed over a whole test set: a ratio of sums, 0 without a pass.

    >>> counts = {"iterations": 3, "selected_iterations": 2, "summed_iterations": 6}
    >>> tokens_per_iteration([Translation("a b", num_tokens=6, **counts)])
    TokensPerIteration(slowest=2.0, selected=3.0, summed=1.0)
    """
    num_tokens = sum(translation.num_tokens for translation in translations)
    passes = (
        sum(translation.iterations for translation in translations),
        sum(translation.selected_iterations for translation in translations),
        sum(translation.summed_iterations for translation in translations),
    )
    return TokensPerIteration(*(num_tokens / n if n else 0.0 for n in passes))
