"""How a model decodes, as users choose it."""

import dataclasses
import numbers

from cmlm_tf.decoding.heuristics import HEURISTICS, LARGEST_SETTING, CombThresh
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.errors import UserError

#: Hypotheses of a beam; more would not fit a vocabulary or a memory.
LARGEST_BEAM = 1000


@dataclasses.dataclass(frozen=True)
class UnmaskingOptions:
    """How a student decodes.

    Attributes:
        heuristic: a name of `HEURISTICS`: `mask_predict`, `fixed_k`, `thresh`,
            `comb_thresh` or `fcomb_thresh`.
        setting: T, K or tau, whatever the heuristic takes; by default its own default.
        strategy: `update_all`, `update_masked` or `update_masked_sub`.
        length_beam: number of length candidates.
        oracle_spread: with reference lengths, how far candidates lie around.
        max_iterations: bound of the passes; None is the longest target.
        drop_losing_candidates: stop candidates that cannot win any more; same
            translations, faster, but their scores and iterations are not known.
        forbid_repeats: of neighbours that get the same token in one pass, keep the
            more probable and predict the other again.
        trace: keep every pass.
    """

    heuristic: str = CombThresh.name
    setting: float = None  # type: ignore[assignment]  # The rule's own default.
    strategy: str = "update_masked_sub"
    length_beam: int = 5
    oracle_spread: int = 0
    max_iterations: int | None = None
    drop_losing_candidates: bool = False
    forbid_repeats: bool = False
    trace: bool = False

    def __post_init__(self) -> None:
        if self.heuristic not in list(HEURISTICS):
            raise UserError(
                f"heuristic must be one of {', '.join(HEURISTICS)}, "
                f"not {self.heuristic!r}"
            )
        rule = HEURISTICS[self.heuristic]
        if self.setting is None:
            object.__setattr__(self, "setting", rule.default)  # type: ignore[unreachable]
        try:
            rule.check(self.setting)
        except ValueError as error:
            raise UserError(str(error)) from error
        if self.strategy not in list(STRATEGIES):
            raise UserError(
                f"strategy must be one of {', '.join(STRATEGIES)}, "
                f"not {self.strategy!r}"
            )
        for name in ("length_beam", "max_iterations"):
            value = getattr(self, name)
            if name == "max_iterations" and value is None:
                continue
            is_whole = isinstance(value, numbers.Integral)
            if not is_whole or not 1 <= value <= LARGEST_SETTING:
                raise UserError(
                    f"{name} must be at least 1 and at most {LARGEST_SETTING}, "
                    f"not {value!r}"
                )
        if self.oracle_spread < 0:
            raise UserError(f"oracle_spread must not be below 0: {self.oracle_spread}")
        if self.drop_losing_candidates and self.strategy != "update_masked_sub":
            raise UserError("drop_losing_candidates needs update_masked_sub")


@dataclasses.dataclass(frozen=True)
class BeamOptions:
    """How a teacher decodes.

    Attributes:
        beam_size: hypotheses per sentence; 1 is greedy search.
        length_penalty: exponent of the length penalty of Wu et al. (2016).
    """

    beam_size: int = 5
    length_penalty: float = 0.6

    def __post_init__(self) -> None:
        if not 1 <= self.beam_size <= LARGEST_BEAM:
            raise UserError(
                f"beam_size must be from 1 to {LARGEST_BEAM}, not {self.beam_size}"
            )
        if not self.length_penalty >= 0:
            raise UserError(
                f"length_penalty must not be below 0: {self.length_penalty}"
            )


def parse_setting(text: str) -> tuple[str, float]:
    """Reads `HEURISTIC:SETTING`; `UnmaskingOptions` checks both.

    >>> parse_setting("fixed_k:3")
    ('fixed_k', 3.0)

    Raises:
        UserError: the setting is missing or no number.
    """
    heuristic, _, setting = text.partition(":")
    try:
        return heuristic, float(setting)
    except ValueError as error:
        raise UserError(f"must be HEURISTIC:SETTING, not {text!r}") from error
