"""Speed against setting for one way of decoding, and the setting for a speed.

Kreutzer et al. (2020), section 4.2: the threshold of a speed has to be found on
development text.
"""

import bisect
import dataclasses
import math
from typing import Any, NamedTuple

from cmlm_tf.decoding.heuristics import LARGEST_SETTING
from cmlm_tf.errors import UserError, span_inside
from cmlm_tf.translate.options import UnmaskingOptions

#: What a table is measured for, beside the setting: fields of `UnmaskingOptions`.
KEY_FIELDS = ("heuristic", "strategy", "length_beam", "drop_losing_candidates")

#: Heuristics that are slower the larger their setting is.
_SLOWER_IF_LARGER = ("mask_predict", "thresh", "comb_thresh", "fcomb_thresh")
_WHOLE_NUMBERS = ("mask_predict", "fixed_k")
#: A threshold below it could not be told from 0 in float32.
SMALLEST = 1e-30
#: Of fewer lines the speed jumps at single values of tau, and depends much on which
#: lines they are.
FEW_LINES = 300


class Point(NamedTuple):
    """A setting and the speed that it gave or will give.

    Attributes:
        speedup: tokens per iteration.
        setting: T, K or tau.
    """

    speedup: float
    setting: float


@dataclasses.dataclass(frozen=True)
class SpeedTable:
    """Speed against setting for one way of decoding, measured on one text.

    Attributes:
        heuristic: as in `UnmaskingOptions`, like the next three.
        strategy: the update strategy.
        length_beam: number of length candidates.
        drop_losing_candidates: whether these stop early.
        points: from slow to fast; speeds rise, and tau and T fall or K rises.
        num_lines: lines of the development set.
        text_sha256: hash of its lines.
    """

    heuristic: str
    strategy: str
    length_beam: int
    drop_losing_candidates: bool
    points: tuple[Point, ...]
    num_lines: int
    text_sha256: str

    def __post_init__(self):
        if not self.points:
            raise UserError("points must not be empty")
        for number, point in enumerate(self.points):
            _check_numbers(number, point)
            UnmaskingOptions(setting=point.setting, **self.key)
            before = self.points[number - 1] if number else None
            if before and not is_faster(self.heuristic, point, before):
                raise UserError(f"points[{number}] must be faster than the one before")

    @property
    def key(self) -> dict[str, Any]:
        """What the table is for: the options that are no setting."""
        return {name: getattr(self, name) for name in KEY_FIELDS}

    @property
    def is_interpolated(self) -> bool:
        """Whether there are speeds between the measured ones."""
        return not is_whole_number(self.heuristic) and self.num_lines >= FEW_LINES

    def promise(self, target_speedup: float) -> Point:
        """Finds the setting for a speed, and the speed that it will give.

        tau is interpolated: the root of its negative logarithm is taken to be
        linear in the speed between two points; the speed is the target. K and T
        are whole numbers: of those measured the one whose speed is nearest is
        taken, and its speed returned. So it is with tau measured on few lines.

        >>> points = Point(1.8, 2), Point(2.6, 3)
        >>> table = SpeedTable("fixed_k", "update_all", 5, False, points, 9, "")
        >>> table.promise(2.0)
        Point(speedup=1.8, setting=2)

        Args:
            target_speedup: tokens per iteration.

        Raises:
            UserError: the target is outside of what was measured.
        """
        speeds = [point.speedup for point in self.points]
        if not speeds[0] <= target_speedup <= speeds[-1]:
            raise UserError(
                f"target_speedup must be {span_inside(speeds[0], speeds[-1])} for "
                f"{self.heuristic} with length_beam {self.length_beam}, as calibrated, "
                f"not {target_speedup}"
            )
        if not self.is_interpolated:
            return min(self.points, key=lambda p: abs(p.speedup - target_speedup))
        right = max(bisect.bisect_left(speeds, target_speedup), 1)
        ends = self.points[right - 1 : right + 1]
        return Point(target_speedup, _interpolate(target_speedup, *ends))


def is_faster(heuristic: str, point: Point, other: Point) -> bool:
    """Tells whether both speed and setting of a point are on the fast side.

    >>> is_faster("fixed_k", Point(2.5, 3), Point(1.8, 2))
    True
    """
    sign = -1 if heuristic in _SLOWER_IF_LARGER else 1
    faster = point.speedup > other.speedup
    return faster and sign * point.setting > sign * other.setting


def is_whole_number(heuristic: str) -> bool:
    """Tells whether the setting of a heuristic is a whole number, T or K."""
    return heuristic in _WHOLE_NUMBERS


def place_of_tau(tau: float) -> float:
    """Maps tau to the axis on which speed is nearly linear; slow is low.

    >>> place_of_tau(1.0)
    0.0
    """
    return math.sqrt(math.log(1 / tau))


def tau_at(place: float) -> float:
    """Undoes `place_of_tau`.

    >>> tau_at(0.0)
    1.0
    """
    return math.exp(-place * place)


def _interpolate(target: float, slow: Point, fast: Point | None = None) -> float:
    """Returns tau at a speed between two points, or at one."""
    if fast is None or target == slow.speedup:
        return slow.setting
    if target == fast.speedup:
        return fast.setting
    share = (target - slow.speedup) / (fast.speedup - slow.speedup)
    low, high = place_of_tau(slow.setting), place_of_tau(fast.setting)
    return tau_at(low + share * (high - low))


def _check_numbers(number: int, point: Point) -> None:
    for name, value in point._asdict().items():
        if type(value) not in (int, float) or not SMALLEST <= value <= LARGEST_SETTING:
            raise UserError(
                f"points[{number}]: {name} must be a number from {SMALLEST} to "
                f"{LARGEST_SETTING}"
            )
