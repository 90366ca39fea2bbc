"""Finds the settings of target speeds with few decodings of a development set.

Kreutzer et al. (2020), section 4.2. Speed changes monotonically, and nearly
linearly, with K, with 1 / T and with the root of -log tau: on that axis a target is
interpolated between measured points, which serve all targets.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cmlm_tf.errors import UserError
from cmlm_tf.translate.speed_table import (
    SMALLEST,
    Point,
    is_faster,
    is_whole_number,
    place_of_tau,
    tau_at,
)

#: How far a promise may be off where it was made, in tokens per iteration.
TOLERANCE = 0.1
#: How far beyond the outermost targets a table reaches, as a share of them.
_MARGIN = 0.05
#: Values of tau whose places are no farther apart are as good as one.
_SAME_PLACE = 0.01
#: Between points farther apart than this, in tokens per iteration, no curve is
#: taken to be a straight line.
_WIDEST_GAP = 2.5
_MOST_MEASUREMENTS = 100
_LARGEST_WHOLE = 1000

_Gap = tuple[Point, Point]


class NoSettings(UserError):
    """No setting was found for any of the speeds."""


class _Axis(NamedTuple):
    """Where the settings of a heuristic lie, slow ones at low places.

    Attributes:
        place: maps a setting to its place.
        setting: maps any place to the nearest setting that there is.
        guess: maps a speed to the place where it may be.
    """

    place: Callable[[float], float]
    setting: Callable[[float], float]
    guess: Callable[[float], float]


def find_settings(
    measure: Callable[[float], float],
    heuristic: str,
    targets: Sequence[float],
    tolerance: float = TOLERANCE,
    jumps: bool = False,
) -> tuple[Point, ...]:
    """Measures until every target lies between points that tell its setting.

    The target that lies farthest from all measured speeds is tried next, at the
    setting interpolated for it. How far it is missed says how straight the curve
    is there: in both halves interpolation is off by a quarter of that.

    >>> points = find_settings(lambda k: 0.9 * k, "fixed_k", [2.0, 3.0])
    >>> [point.setting for point in points]
    [2, 3, 4]

    Args:
        measure: returns the speed at a setting, in tokens per iteration.
        heuristic: a key of `HEURISTICS`.
        targets: tokens per iteration.
        tolerance: how far interpolation may be off; K and T are not interpolated,
            but all whole numbers next to a target tried.
        jumps: whether tau is not interpolated either, as speed jumps with it; then
            the speed of every target is measured, or those at both sides of a jump.

    Returns:
        The points, monotone, from slow to fast; each was measured. A target outside
        of their speeds cannot be reached.

    Raises:
        NoSettings: no target can be reached; names the limit.
    """
    search = _Search(measure, heuristic, tolerance, jumps)
    for target in {min(targets) * (1 - _MARGIN), max(targets) * (1 + _MARGIN)}:
        search.measure(search.axis.setting(search.axis.guess(target)))
    search.reach(min(targets), -1)
    search.reach(max(targets), 1)
    reached = reachable(search.points(), targets)
    if not reached:
        raise NoSettings(out_of_reach(search.points(), heuristic, targets))
    while reached := [target for target in reached if search.is_open(target)]:
        search.close_in(max(reached, key=search.distance))
    return search.points()


def reachable(points: Sequence[Point], targets: Sequence[float]) -> list[float]:
    """Returns the targets that lie between the ends of `find_settings`' points."""
    return [t for t in targets if points[0].speedup <= t <= points[-1].speedup]


def out_of_reach(
    points: Sequence[Point], heuristic: str, targets: Sequence[float]
) -> str:
    """Names the other targets and the limit on their side; empty without any.

    >>> out_of_reach([Point(0.9, 1), Point(9.0, 20)], "fixed_k", [3.0, 10.0, 12.0])
    'target_speedup 10, 12: the fastest of fixed_k on this text is 9.00 tokens per \
iteration'

    Args:
        points: of `find_settings`.
        heuristic: whose points these are.
        targets: tokens per iteration, as the limit is.
    """
    low, high = points[0].speedup, points[-1].speedup
    parts = []
    for limit, speed, missed in (  # Rounded to what can be asked for.
        ("slowest", math.ceil(low * 100) / 100, [t for t in targets if t < low]),
        ("fastest", math.floor(high * 100) / 100, [t for t in targets if t > high]),
    ):
        if missed:
            names = ", ".join(f"{target:g}" for target in missed)
            parts.append(
                f"target_speedup {names}: the {limit} of {heuristic} on this text is "
                f"{speed:.2f} tokens per iteration"
            )
    return "; ".join(parts)


class _Search:
    """What was measured, and where to measure next."""

    def __init__(
        self,
        measure: Callable[[float], float],
        heuristic: str,
        tolerance: float,
        jumps: bool,
    ):
        self.axis = _axis(heuristic)
        self._jumps = jumps and not is_whole_number(heuristic)
        self._measure, self._heuristic, self._tolerance = measure, heuristic, tolerance
        self._speeds: dict[float, float] = {}
        #: By how much the measurement that made a gap missed its target.
        self._misses: dict[_Gap, float] = {}
        #: Gaps in which there is no setting.
        self._empty: set[_Gap] = set()

    def measure(self, setting: float) -> float:
        if setting not in self._speeds:
            if len(self._speeds) == _MOST_MEASUREMENTS:
                raise NoSettings(
                    f"{self._heuristic}: no settings for these speeds after "
                    f"{_MOST_MEASUREMENTS} decodings"
                )
            self._speeds[setting] = self._measure(setting)
        return self._speeds[setting]

    def points(self) -> tuple[Point, ...]:
        """Returns what was measured, from slow to fast, without what is no faster."""
        kept: list[Point] = []
        for setting in sorted(self._speeds, key=self.axis.place):
            point = Point(self._speeds[setting], setting)
            if not kept or is_faster(self._heuristic, point, kept[-1]):
                kept.append(point)
        return tuple(kept)

    def distance(self, target: float) -> float:
        """Returns how far a target is from the points."""
        return min(abs(target - point.speedup) for point in self.points())

    def reach(self, target: float, outward: int) -> None:
        """Measures ever slower (-1) or faster (1) settings, up to beyond a target.

        It ends before that where there are no others.
        """
        aim = target * (1 + outward * _MARGIN)
        stretch = self.axis.guess(1.0) - self.axis.guess(0.0)
        while True:
            end = self.points()[0 if outward < 0 else -1]
            if outward * (end.speedup - target) >= 0:
                return
            outermost = max(self._speeds, key=lambda s: outward * self.axis.place(s))
            place = self.axis.place(outermost) + stretch * (aim - end.speedup)
            setting = self.axis.setting(place)
            if setting == outermost and is_whole_number(self._heuristic):
                setting = self._next_whole(setting, outward)
            if setting in self._speeds:
                return
            self.measure(setting)
            stretch *= 2

    def is_open(self, target: float) -> bool:
        """Tells whether a target's setting is not yet known."""
        if self.distance(target) <= self._tolerance:
            return False
        gap = self._gap(target)
        if gap in self._empty:
            return False
        if self._jumps:
            low, high = (self.axis.place(point.setting) for point in gap)
            return high - low > _SAME_PLACE
        if is_whole_number(self._heuristic) or _width(gap) > _WIDEST_GAP:
            return True
        return self._misses.get(gap, math.inf) / 4 > self._tolerance

    def close_in(self, target: float) -> None:
        """Measures at the setting interpolated for a target, or halfway."""
        slow, fast = gap = self._gap(target)
        low, high = (self.axis.place(point.setting) for point in gap)
        share = (target - slow.speedup) / _width(gap)
        if self._misses.get(gap, 0.0) > _width(gap) / 4:
            share = 0.5  # Interpolation does not work here.
        setting = self.axis.setting(low + share * (high - low))
        if setting in self._speeds:
            setting = self.axis.setting((low + high) / 2)
        if setting in self._speeds and is_whole_number(self._heuristic):
            setting = round((slow.setting + fast.setting) / 2)
        if setting in self._speeds:
            self._empty.add(gap)
            return
        middle = Point(self.measure(setting), setting)
        for half in ((slow, middle), (middle, fast)):
            self._misses[half] = abs(middle.speedup - target)

    def _gap(self, target: float) -> _Gap:
        slow, fast = next(
            (slow, fast)
            for slow, fast in itertools.pairwise(self.points())
            if target <= fast.speedup
        )
        # Where speed stays the same for a while, the last setting lies at the gap.
        same = [s for s, speed in self._speeds.items() if speed == slow.speedup]
        return Point(slow.speedup, max(same, key=self.axis.place)), fast

    def _next_whole(self, setting: float, outward: int) -> float:
        """Returns the neighbour on the slow (-1) or fast (1) side, 1 at the least."""
        is_rising = self.axis.place(2) > self.axis.place(1)
        return _whole(setting + (outward if is_rising else -outward))


def _width(gap: _Gap) -> float:
    """Returns the width of a gap in tokens per iteration."""
    return gap[1].speedup - gap[0].speedup


def _axis(heuristic: str) -> _Axis:
    if heuristic == "fixed_k":
        return _Axis(float, _whole, lambda speed: speed)
    if heuristic == "mask_predict":
        # Sentences of about 15 subwords; a guess need not be good.
        return _Axis(
            lambda t: 15 / t, lambda x: _whole(15 / max(x, 1e-9)), lambda speed: speed
        )
    # A trained student's speed; the guess need not be good.
    return _Axis(place_of_tau, _tau, lambda speed: (speed + 1.2) / 3.2)


def _whole(x: float) -> int:
    return min(max(round(x), 1), _LARGEST_WHOLE)


def _tau(place: float) -> float:
    """Returns tau in four digits."""
    return float(f"{max(tau_at(max(place, 0.0)), SMALLEST):.4g}")
