"""What setting gives what speed: `calibration.json` in a model directory.

Kreutzer et al. (2020), section 4.2: the threshold of a speed has to be found on
a development set. A table holds what was measured there; settings in between are
interpolated. Speed is counted in tokens per iteration.
"""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import MODEL_FILES, read_description
from cmlm_tf.translate.speed_table import KEY_FIELDS, Point, SpeedTable
from cmlm_tf.utils.files import check_writable
from cmlm_tf.utils.json_files import read_json, write_json

CALIBRATION_FILE = "calibration.json"
FORMAT = 1
COUNTING = (
    "subwords of all translations divided by passes; a sentence's passes are those "
    "of its slowest length candidate"
)


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
        if table := self.table(key):
            return table.promise(target_speedup)
        known = "; ".join(_describe(table.key) for table in self.tables)
        raise UserError(
            f"{self.path}: not calibrated for {_describe(key)}, but for {known}; "
            "bin/calibrate.py does it"
        )

    def setting(
        self, target_speedup: float, heuristic: str, *args: Any, **kwargs: Any
    ) -> float:
        """Returns the setting of `promise`, which takes the same arguments."""
        return self.promise(target_speedup, heuristic, *args, **kwargs).setting

    def table(self, key: Mapping[str, Any]) -> SpeedTable | None:
        """Returns the table for a way of decoding (`SpeedTable.key`), if there is."""
        return next((table for table in self.tables if table.key == key), None)


def model_files(model_dir: str | os.PathLike[str]) -> dict[str, Path]:
    """Returns the files of a model directory, there or not, by what they are."""
    return {
        f"{name} of the model": Path(model_dir) / name
        for name in (*MODEL_FILES, CALIBRATION_FILE)
    }


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
        if (type(content[name]), content[name]) != (type(value), value):
            raise UserError(f"{path}: {name} is {content[name]!r}, expected {value!r}")
    if not isinstance(content["tables"], list) or not content["tables"]:
        raise UserError(f"{path}: tables must be a list of one or more")
    tables = []
    for number, record in enumerate(content["tables"]):
        try:
            tables.append(_read_table(record))
        except UserError as error:
            raise UserError(f"{path}: tables[{number}]: {error}") from error
    if len({str(table.key) for table in tables}) < len(tables):
        raise UserError(f"{path}: tables: two are for the same way of decoding")
    return Calibration(path, tuple(tables))


def check_replacement(
    model_dir: str | os.PathLike[str], key: Mapping[str, Any], num_lines: int | None
) -> None:
    """Checks that `save_table` can store a table, and that it would be no loss.

    Args:
        model_dir: the folder of a student.
        key: of the table, see `SpeedTable.key`.
        num_lines: of the text that it is to be measured on; None for whatever loss.

    Raises:
        UserError: the folder is no model, its calibration is damaged or cannot be
            written, or its table for this way of decoding is from more lines.
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
    write_json(Path(model_dir) / CALIBRATION_FILE, content)


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
    if record["num_lines"] < 1:
        raise UserError("num_lines must be at least 1")
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


def _describe(key: Mapping[str, Any]) -> str:
    """Names a way of decoding.

    >>> _describe({"heuristic": "thresh", "length_beam": 5})
    'heuristic=thresh, length_beam=5'
    """
    return ", ".join(f"{name}={value}" for name, value in key.items())
