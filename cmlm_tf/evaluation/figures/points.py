"""Measured points: each is kept in a small file as soon as it is finished."""

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from absl import logging

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures.origin import check_same
from cmlm_tf.evaluation.figures.shapes import require
from cmlm_tf.utils.json_files import json_hash, read_json, write_json


class PointStore:
    """A folder of finished points; what is there is not measured again.

    Attributes:
        num_measured: points that were measured, not read.
        figure: what the points are for, in the log.
        expected: of how many points the figure is made; None while that is not
            known.
    """

    def __init__(self, folder: str | os.PathLike[str], deadline: float = math.inf):
        """Opens a folder.

        Args:
            folder: holds a JSON file for each point.
            deadline: the reading of `time.monotonic` after which no new point is
                begun.
        """
        self._folder = Path(folder)
        self._deadline = deadline
        self.num_measured = 0
        self.figure = ""
        self.expected: int | None = None
        self._count = 0
        self._origin: dict[str, str] = {}

    def keep_to(self, origin: dict[str, str]) -> None:
        """Says what all points are of; new ones keep it. The log counts those kept.

        Args:
            origin: hashes and languages of models and texts, by field.

        Raises:
            UserError: a point in the folder is damaged, or of something else. Fields
                that it lacks, as those of earlier versions do, can be anything.
        """
        self._origin = origin
        paths = [p for p in self._folder.glob("*.json") if not p.name.startswith(".")]
        for path in sorted(paths):
            content = require(read_json(path), {"origin?": {str: str}}, str(path))
            check_same(origin, content.get("origin", {}), path, "this run")
        if paths:
            logging.info("%s: %d points are kept", self._folder, len(paths))

    def begin(self, figure: str) -> None:
        """Counts points anew, for another figure."""
        self.figure, self._count = figure, 0
        self.expected = None

    def get(
        self,
        key: dict[str, Any],
        measure: Callable[[], dict[str, Any]],
        shape: Any = None,
    ) -> dict[str, Any]:
        """Returns a point, measured unless it is there.

        Args:
            key: all that the point depends on beside the origin; can be written as
                JSON.
            measure: called if need be; returns what can be written as JSON.
            shape: what a point from a file must hold; see `require`.

        Raises:
            UserError: a file is damaged, or the time is up.
        """
        self._count += 1
        path = self._folder / f"{json_hash(key)[:20]}.json"
        if path.exists():
            return _read(path, key, shape or {})
        start = time.monotonic()
        if start > self._deadline:
            raise UserError(
                f"time is up after {self.num_measured} new points: the same command "
                "goes on"
            )
        result = measure()
        seconds = round(time.monotonic() - start, 2)
        content = {"key": key, "origin": self._origin, "seconds": seconds}
        write_json(path, content | {"result": result})
        self.num_measured += 1
        total = self.expected or "as many as the search takes"
        place = f"{self.figure}: point {self._count} of {total}"
        logging.info("%s, %.1f s: %s", place, seconds, _in_short(key))
        return result


def _in_short(key: dict[str, Any]) -> str:
    """Tells what a point is, without hashes and what is turned off.

    >>> _in_short({"kind": "quality", "text_sha256": "0", "options": {"beam_size": 5}})
    'kind=quality beam_size=5'
    """
    fields = {k: v for k, v in key.items() if k != "options" and "sha256" not in k}
    fields |= key.get("options", {})
    return " ".join(f"{k}={v}" for k, v in fields.items() if v)


def _read(path: Path, key: dict[str, Any], shape: Any) -> dict[str, Any]:
    content = require(read_json(path), {"key": {}, "result": shape}, str(path))
    if json_hash(content["key"]) != json_hash(key):
        raise UserError(f"{path}: key: not that of the point that the name says")
    return content["result"]
