"""What setting gives what speed: `calibration.json` in a model directory.

Kreutzer et al. (2020), section 4.2: the threshold of a speed has to be found on
a development set. A table holds what was measured there; settings in between are
interpolated. Speed is counted in tokens per iteration.
"""

import bisect
import dataclasses
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cmlm_tf.decoding.heuristics import LARGEST_SETTING
from cmlm_tf.errors import UserError, span_inside
from cmlm_tf.files import atomic_write, read_json
from cmlm_tf.modeling.model_dir import read_description
from cmlm_tf.options import UnmaskingOptions

CALIBRATION_FILE = "calibration.json"
FORMAT = 1
COUNTING = (
    "subwords of all translations divided by passes; a sentence's passes are those "
    "of its slowest length candidate"
)

#: What a table is measured for, beside the setting: fields of `UnmaskingOptions`.
KEY_FIELDS = ("heuristic", "strategy", "length_beam", "drop_losing_candidates")

#: Heuristics that are slower the larger their setting is.
_SLOWER_IF_LARGER = ("mask_predict", "thresh", "comb_thresh", "fcomb_thresh")
_WHOLE_NUMBERS = ("mask_predict", "fixed_k")
#: Below it a speed or a setting could not be told from 0.
_LEAST = 1e-9


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

    def promise(self, target_speedup: float) -> Point:
        """Finds the setting for a speed, and the speed that it will give.

        tau is interpolated: the root of its negative logarithm is taken to be
        linear in the speed between two points; the speed is the target. K and T
        are whole numbers: of those measured the one whose speed is nearest is
        taken, and its speed returned.

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
        if self.heuristic in _WHOLE_NUMBERS:
            return min(self.points, key=lambda p: abs(p.speedup - target_speedup))
        right = max(bisect.bisect_left(speeds, target_speedup), 1)
        ends = self.points[right - 1 : right + 1]
        return Point(target_speedup, _interpolate(target_speedup, *ends))


@dataclasses.dataclass(frozen=True)
class Calibration:
    """The tables of a model directory.

    Attributes:
        path: the file.
        tables: at most one for each way of decoding.
    """

    path: Path
    tables: tuple[SpeedTable, ...]

    def promise(
        self,
        target_speedup: float,
        heuristic: str,
        length_beam: int = 5,
        strategy: str = "update_masked_sub",
        drop_losing_candidates: bool = False,
    ) -> Point:
        """Finds the setting for a speed; see `SpeedTable.promise`.

        Raises:
            UserError: this way of decoding or this speed was not calibrated.
        """
        values = (heuristic, strategy, length_beam, drop_losing_candidates)
        key = dict(zip(KEY_FIELDS, values, strict=True))
        for table in self.tables:
            if table.key == key:
                return table.promise(target_speedup)
        known = "; ".join(_describe(table.key) for table in self.tables)
        raise UserError(
            f"{self.path}: not calibrated for {_describe(key)}, but for {known}"
        )

    def setting(
        self, target_speedup: float, heuristic: str, *args: Any, **kwargs: Any
    ) -> float:
        """Returns the setting of `promise`, which takes the same arguments."""
        return self.promise(target_speedup, heuristic, *args, **kwargs).setting


def load_calibration(model_dir: str | os.PathLike[str]) -> Calibration | None:
    """Reads the calibration of a model directory.

    Args:
        model_dir: the folder.

    Returns:
        The calibration, or None where there is none.

    Raises:
        UserError: it is damaged or of other weights; names file and field.
    """
    path = Path(model_dir) / CALIBRATION_FILE
    if not os.path.lexists(path):
        return None
    content = read_json(path)
    expected = _header(model_dir)
    if not isinstance(content, dict) or set(content) != {*expected, "tables"}:
        raise UserError(f"{path}: must hold {', '.join(expected)} and tables")
    for name, value in expected.items():
        if content[name] != value:
            raise UserError(f"{path}: {name} is {content[name]!r}, expected {value!r}")
    if not isinstance(content["tables"], list):
        raise UserError(f"{path}: tables must be a list")
    tables = []
    for number, record in enumerate(content["tables"]):
        try:
            tables.append(_read_table(record))
        except UserError as error:
            raise UserError(f"{path}: tables[{number}]: {error}") from error
    if len({str(table.key) for table in tables}) < len(tables):
        raise UserError(f"{path}: tables: two are for the same way of decoding")
    return Calibration(path, tuple(tables))


def save_table(model_dir: str | os.PathLike[str], table: SpeedTable) -> None:
    """Stores a table in a model directory; others there are kept.

    Args:
        model_dir: the folder of a student.
        table: takes the place of one for the same way of decoding.

    Raises:
        UserError: the folder is no model, or its calibration is damaged.
    """
    before = load_calibration(model_dir)
    others = [old for old in before.tables if old.key != table.key] if before else []
    records = [_as_record(table) for table in (*others, table)]
    content = _header(model_dir) | {"tables": records}
    with atomic_write(Path(model_dir) / CALIBRATION_FILE) as temporary:
        text = json.dumps(content, indent=2) + "\n"
        temporary.write_text(text, encoding="utf-8")


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


def _header(model_dir: str | os.PathLike[str]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "weights_sha256": read_description(model_dir)["weights_sha256"],
        "speedup": COUNTING,
    }


def _as_record(table: SpeedTable) -> dict[str, Any]:
    points = [point._asdict() for point in table.points]
    return dataclasses.asdict(table) | {"points": points}


def _read_table(record: Any) -> SpeedTable:
    kinds = {
        "heuristic": str,
        "strategy": str,
        "length_beam": int,
        "drop_losing_candidates": bool,
        "points": list,
        "num_lines": int,
        "text_sha256": str,
    }
    _check_fields(record, kinds)
    points = []
    for number, point in enumerate(record["points"]):
        if not isinstance(point, Mapping) or set(point) != set(Point._fields):
            raise UserError(f"points[{number}] must hold speedup and setting")
        points.append(Point(**point))
    return SpeedTable(**{**record, "points": tuple(points)})


def _check_fields(record: Any, kinds: Mapping[str, type]) -> None:
    if not isinstance(record, dict) or set(record) != set(kinds):
        raise UserError(f"must hold {', '.join(kinds)}")
    for name, kind in kinds.items():
        if type(record[name]) is not kind:
            raise UserError(f"{name} must be of type {kind.__name__}")


def _check_numbers(number: int, point: Point) -> None:
    for name, value in point._asdict().items():
        if type(value) not in (int, float) or not _LEAST <= value <= LARGEST_SETTING:
            raise UserError(
                f"points[{number}]: {name} must be a number from {_LEAST} to "
                f"{LARGEST_SETTING}"
            )


def _describe(key: Mapping[str, Any]) -> str:
    """Names a way of decoding.

    >>> _describe({"heuristic": "thresh", "length_beam": 5})
    'heuristic=thresh, length_beam=5'
    """
    return ", ".join(f"{name}={value}" for name, value in key.items())
