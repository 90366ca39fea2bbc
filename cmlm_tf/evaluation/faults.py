"""How often translations show the known faults of parallel decoding."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

#: Languages written without blanks: their characters are counted, not words.
_WITHOUT_BLANKS = frozenset({"ja", "th", "zh"})

#: An output this many times longer or shorter than its reference is far off.
FAR_RATIO = 2.0


@dataclasses.dataclass(frozen=True)
class FaultRates:
    """Shares from 0 to 1.

    Attributes:
        repeated: tokens that equal the one before them, of all but the first of
            each line.
        empty: lines without a token, of those whose reference has one.
        far_length: lines with over twice or under half the characters of their
            reference, of those that are not empty.
        copied: lines that equal their source, of those whose source has a token;
            None where the sources are not known.
    """

    repeated: float
    empty: float
    far_length: float
    copied: float | None = None


def fault_rates(
    outputs: Sequence[str],
    references: Sequence[str],
    language: str,
    sources: Sequence[str] | None = None,
) -> FaultRates:
    """Measures the rates; blanks count for nothing.

    Args:
        outputs: translations.
        references: as many.
        language: two-letter code of both; tokens are words between blanks, or
            characters in Chinese, Japanese and Thai.
        sources: as many, or None.

    Returns:
        The rates; a share of nothing is 0.

    >>> fault_rates(["a a b", "", "c", "same"], ["a b", "x", "cde", "same"], "en",
    ...             ["v", "w", "x", "same"])
    FaultRates(repeated=0.5, empty=0.25, far_length=0.3333333333333333, copied=0.25)
    """
    split = _characters if language in _WITHOUT_BLANKS else str.split
    tokens, expected = (list(map(split, side)) for side in (outputs, references))
    pairs = list(zip(tokens, expected, strict=True))
    return FaultRates(
        repeated=_share([a == b for row in tokens for a, b in itertools.pairwise(row)]),
        empty=_share([not ours for ours, theirs in pairs if theirs]),
        far_length=_share([_is_far(*pair) for pair in pairs if all(pair)]),
        copied=None if sources is None else _copied(tokens, map(split, sources)),
    )


def _characters(text: str) -> list[str]:
    return list("".join(text.split()))


def describe(rates: FaultRates, of_references: FaultRates) -> Iterator[tuple[str, str]]:
    """Yields name and figure of each rate, the natural rate beside it.

    >>> rates = FaultRates(0.02, 0.0, 0.1, None)
    >>> for name, value in describe(rates, FaultRates(0.0123, 0.0, 0.0)):
    ...     print(f"{name:<26}{value}")
    repeated words            2.00 % (references 1.23 %)
    empty outputs             0.00 %
    length far from reference 10.00 %
    """
    natural = _percent(of_references.repeated)
    yield "repeated words", f"{_percent(rates.repeated)} (references {natural})"
    yield "empty outputs", _percent(rates.empty)
    yield "length far from reference", _percent(rates.far_length)
    if rates.copied is not None and of_references.copied is not None:
        natural = _percent(of_references.copied)
        yield "copies of the source", f"{_percent(rates.copied)} (references {natural})"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / max(len(flags), 1)


def _is_far(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    ratio = len("".join(ours)) / len("".join(theirs))
    return not 1 / FAR_RATIO <= ratio <= FAR_RATIO


def _copied(tokens: Iterable[list[str]], sources: Iterable[list[str]]) -> float:
    pairs = zip(tokens, sources, strict=True)
    return _share([ours == source for ours, source in pairs if source])
