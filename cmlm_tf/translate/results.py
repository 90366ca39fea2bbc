"""What a translator returns for a line."""

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One hypothesis.

    Attributes:
        text: the translation.
        tokens: its subword ids.
        score: mean log-probability, for a teacher divided by length penalty.
        iterations: passes that it took; for a teacher its steps.
        passes: with a trace, for each pass the ids, log-probabilities and
            masked flags of all positions.
    """

    text: str
    tokens: tuple[int, ...]
    score: float
    iterations: int
    passes: tuple[dict[str, list], ...] = ()


@dataclasses.dataclass(frozen=True)
class Translation:
    """The translation of a line.

    Attributes:
        text: the translation; empty for an empty or blank line.
        score: of the best candidate; of several parts, their mean by subword.
        num_tokens: subwords of the translation.
        iterations: most passes that any candidate took (they run side by side).
        selected_iterations: passes that the best candidate took.
        summed_iterations: passes of all candidates together.
        candidates: all hypotheses, best first; one list a part of the line.
    """

    text: str
    score: float = 0.0
    num_tokens: int = 0
    iterations: int = 0
    selected_iterations: int = 0
    summed_iterations: int = 0
    candidates: tuple[tuple[Candidate, ...], ...] = ()

    @classmethod
    def join(cls, parts: Sequence[Sequence[Candidate]]) -> "Translation":
        """Joins the parts of a line; each part's best candidate comes first."""
        best = [candidates[0] for candidates in parts if candidates]
        num_tokens = sum(len(candidate.tokens) for candidate in best)
        total = sum(candidate.score * len(candidate.tokens) for candidate in best)
        iterations = [[c.iterations for c in candidates] for candidates in parts]
        return cls(
            text=" ".join(candidate.text for candidate in best),
            score=total / max(num_tokens, 1),
            num_tokens=num_tokens,
            iterations=sum(max(counts, default=0) for counts in iterations),
            selected_iterations=sum(c.iterations for c in best),
            summed_iterations=sum(map(sum, iterations)),
            candidates=tuple(tuple(candidates) for candidates in parts),
        )
