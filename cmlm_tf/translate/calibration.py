"""What setting gives what speed: `calibration.json` in a model directory.

Kreutzer et al. (2020), section 4.2: the threshold of a speed has to be found on
a development set. A table holds what was measured there; settings in between are
interpolated. Speed is counted in tokens per iteration.
"""

import bisect
import dataclasses
import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cmlm_tf.decoding.heuristics import HEURISTICS, LARGEST_SETTING
from cmlm_tf.errors import UserError, span_inside
from cmlm_tf.modeling.model_dir import MODEL_FILES, read_description
from cmlm_tf.translate.options import UnmaskingOptions
from cmlm_tf.utils.files import check_writable
from cmlm_tf.utils.json_files import read_json, write_json

CALIBRATION_FILE = "calibration.json"
FORMAT = 1
COUNTING = (
    "subwords of all translations divided by passes; a sentence's passes are those "
    "of its slowest length candidate"
)
#: What a table is measured for, beside the setting: fields of `UnmaskingOptions`.
KEY_FIELDS = ("heuristic", "strategy", "length_beam", "drop_losing_candidates")
#: Of fewer lines the speed jumps at single values of tau, and depends much on which
#: lines they are.
FEW_LINES = 300
#: Of `SpeedTable.curve`, between two measured points.
_NUM_PIECES = 64


class Point(NamedTuple):
    """A setting (T, K or tau) and its speed, in tokens per iteration."""

    speedup: float
    setting: float


@dataclasses.dataclass(frozen=True)
class SpeedTable:
    """Speed against setting for one way of decoding, measured on one text.

    Attributes:
        heuristic, strategy, length_beam, drop_losing_candidates: as in
            `UnmaskingOptions`.
        points: see `rising_points`; one or more.
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

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            kind: Any = tuple if field.name == "points" else field.type
            if type(getattr(self, field.name)) is not kind:
                raise UserError(f"{field.name} must be of type {kind.__name__}")
        if self.num_lines < 1:
            raise UserError("num_lines must be at least 1")
        for number in itertools.chain(*self.points):
            if type(number) not in (int, float) or not 0 < number <= LARGEST_SETTING:
                raise UserError(
                    "points: speedup and setting must be numbers above 0 and at most "
                    f"{LARGEST_SETTING}, not {number!r}"
                )
        for point in self.points:
            UnmaskingOptions(setting=point.setting, **self.key)
        speeds = {setting: speedup for speedup, setting in self.points}
        if not speeds or rising_points(self.heuristic, speeds) != self.points:
            raise UserError("points must be one or more, each faster than the last")

    @property
    def key(self) -> dict[str, Any]:
        """What the table is for: the options that are no setting."""
        return {name: getattr(self, name) for name in KEY_FIELDS}

    @property
    def span(self) -> tuple[float, float]:
        """The slowest and the fastest speed."""
        return self.points[0].speedup, self.points[-1].speedup

    @property
    def is_interpolated(self) -> bool:
        """Whether speeds between the measured ones can be promised."""
        is_whole = HEURISTICS[self.heuristic].is_whole
        return len(self.points) > 1 and self.num_lines >= FEW_LINES and not is_whole

    def promise(self, target_speedup: float) -> Point:
        """Finds the setting for a speed, and the speed that it will give.

        tau is interpolated on its rule's axis; the speed is the target. Of K and T,
        whole numbers, the measured one is taken whose speed is nearest; so is tau
        measured on few lines.

        >>> points = Point(1.8, 2), Point(2.6, 3)
        >>> table = SpeedTable("fixed_k", "update_all", 5, False, points, 9, "")
        >>> table.promise(2.0)
        Point(speedup=1.8, setting=2)

        Args:
            target_speedup: tokens per iteration.

        Raises:
            UserError: the target is outside of what was measured.
        """
        low, high = self.span
        if not low <= target_speedup <= high:
            raise UserError(
                f"target_speedup must be {span_inside(low, high)} for "
                f"{self.heuristic} with length_beam {self.length_beam}, as calibrated, "
                f"not {target_speedup}"
            )
        nearest = min(self.points, key=lambda p: abs(p.speedup - target_speedup))
        if nearest.speedup == target_speedup or not self.is_interpolated:
            return nearest
        right = bisect.bisect(self.points, (target_speedup,))
        slow, fast = self.points[right - 1 : right + 1]
        rule = HEURISTICS[self.heuristic]
        share = (target_speedup - slow.speedup) / (fast.speedup - slow.speedup)
        start, end = rule.place(slow.setting), rule.place(fast.setting)
        return Point(target_speedup, rule.setting_at(start + share * (end - start)))

    def curve(self) -> tuple[Point, ...]:
        """Tabulates `promise`: straight lines between these points do the same.

        Without interpolation they are a staircase, upright halfway between two points.
        """
        points = list(self.points[:1])
        for slow, fast in itertools.pairwise(self.points):
            if self.is_interpolated:
                width = (fast.speedup - slow.speedup) / _NUM_PIECES
                speeds = (slow.speedup + i * width for i in range(1, _NUM_PIECES))
                points += map(self.promise, speeds)
            else:
                middle = (slow.speedup + fast.speedup) / 2
                points += Point(middle, slow.setting), Point(middle, fast.setting)
            points.append(fast)
        return tuple(points)


def rising_points(heuristic: str, speeds: Mapping[float, float]) -> tuple[Point, ...]:
    """Orders settings and their speeds from slow to fast settings.

    Those are left out that are no faster than one of a slower setting.

    >>> rising_points("mask_predict", {2: 6.0, 4: 3.0, 3: 2.9})
    (Point(speedup=3.0, setting=4), Point(speedup=6.0, setting=2))
    """
    points: list[Point] = []
    for setting in sorted(speeds, key=HEURISTICS[heuristic].place):
        if not points or speeds[setting] > points[-1].speedup:
            points.append(Point(speeds[setting], setting))
    return tuple(points)


@dataclasses.dataclass(frozen=True)
class Calibration:
    """The tables of a model directory's file, one for each way of decoding."""

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
        if table := self.table(key):
            return table.promise(target_speedup)
        known = "; ".join(_describe(table.key) for table in self.tables)
        raise UserError(
            f"{self.path}: not calibrated for {_describe(key)}, but for {known}; "
            "cmlm-calibrate does it"
        )

    def table(self, key: Mapping[str, Any]) -> SpeedTable | None:
        """Returns the table with a `SpeedTable.key`, if there is one."""
        return next((table for table in self.tables if table.key == key), None)


def model_files(model_dir: str | os.PathLike[str]) -> dict[str, Path]:
    """Returns the files of a model directory, there or not, by what they are."""
    return {
        f"{name} of the model": Path(model_dir) / name
        for name in (*MODEL_FILES, CALIBRATION_FILE)
    }


def load_calibration(model_dir: str | os.PathLike[str]) -> Calibration | None:
    """Reads the calibration of a model directory, or returns None without one.

    Raises:
        UserError: it is damaged or of other weights; names file and field.
    """
    path = Path(model_dir) / CALIBRATION_FILE
    if not os.path.lexists(path):
        return None
    content, header = read_json(path), _header(model_dir)
    if not isinstance(content, dict) or set(content) != {*header, "tables"}:
        raise UserError(f"{path}: must hold {', '.join(header)} and tables")
    for name, value in header.items():
        if content[name] != value:
            raise UserError(f"{path}: {name} is {content[name]!r}, expected {value!r}")
    records = content["tables"]
    if not isinstance(records, list) or not records:
        raise UserError(f"{path}: tables must be a list of one or more")
    tables: dict[str, SpeedTable] = {}
    for number, record in enumerate(records):
        try:
            table = _read_table(record)
        except UserError as error:
            raise UserError(f"{path}: tables[{number}]: {error}") from error
        if _describe(table.key) in tables:
            raise UserError(f"{path}: tables: two are for {_describe(table.key)}")
        tables[_describe(table.key)] = table
    return Calibration(path, tuple(tables.values()))


def check_replacement(
    model_dir: str | os.PathLike[str], key: Mapping[str, Any], num_lines: int | None
) -> None:
    """Checks that `save_table` can store a table, and that it would be no loss.

    Raises:
        UserError: the folder is no model, its calibration is damaged or cannot be
            written, or its table with this key is from more than `num_lines`.
    """
    calibration = load_calibration(model_dir)
    path = Path(model_dir) / CALIBRATION_FILE
    check_writable(path)
    old = calibration.table(key) if calibration else None
    if old and num_lines is not None and old.num_lines > num_lines:
        raise UserError(
            f"{path}: the table for {_describe(key)} is from {old.num_lines} lines, a "
            f"new one would be from {num_lines}; --replace stores it all the same"
        )


def save_table(model_dir: str | os.PathLike[str], table: SpeedTable) -> None:
    """Stores a table in place of one for the same way of decoding.

    Raises:
        UserError: the folder is no model, or its calibration is damaged.
    """
    before = load_calibration(model_dir)
    others = [old for old in before.tables if old.key != table.key] if before else []
    records = [
        dataclasses.asdict(each) | {"points": [p._asdict() for p in each.points]}
        for each in (*others, table)
    ]
    content = _header(model_dir) | {"tables": records}
    write_json(Path(model_dir) / CALIBRATION_FILE, content)


def _header(model_dir: str | os.PathLike[str]) -> dict[str, Any]:
    weights = read_description(model_dir)["weights_sha256"]
    return {"format": FORMAT, "weights_sha256": weights, "speedup": COUNTING}


def _read_table(record: Any) -> SpeedTable:
    try:
        points = tuple(Point(**point) for point in record["points"])
        return SpeedTable(**{**record, "points": points})
    except (KeyError, TypeError) as error:
        names = ", ".join(field.name for field in dataclasses.fields(SpeedTable))
        wanted = f"must hold {names}; each of points speedup and setting"
        raise UserError(wanted) from error


def _describe(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in key.items())
