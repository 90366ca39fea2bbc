"""Measured points: each is kept in a small file as soon as it is finished."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from absl import logging

from cmlm_tf.errors import UserError
from cmlm_tf.files import atomic_write, json_hash, read_json


class PointStore:
    """A folder of finished points; what is there is not measured again.

    Attributes:
        num_measured: points that were measured, not read.
    """

    def __init__(
        self, folder: str | os.PathLike[str], time_budget: float | None = None
    ):
        """Opens a folder.

        Args:
            folder: holds a JSON file for each point.
            time_budget: seconds after which no new point is begun.
        """
        self._folder = Path(folder)
        self._start, self._time_budget = time.monotonic(), time_budget
        self.num_measured = 0

    def get(
        self, key: dict[str, Any], measure: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Returns a point, measured unless it is there.

        Args:
            key: all that the point depends on; can be written as JSON.
            measure: called if need be; returns what can be written as JSON.

        Raises:
            UserError: a file is damaged, or the time is up.
        """
        path = self._folder / f"{json_hash(key)[:20]}.json"
        if path.exists():
            return _read(path, key)
        used = time.monotonic() - self._start
        if self._time_budget is not None and used > self._time_budget:
            raise UserError(
                f"time is up after {self.num_measured} new points: the same command "
                "goes on"
            )
        start = time.monotonic()
        result = measure()
        seconds = round(time.monotonic() - start, 2)
        with atomic_write(path) as temporary:
            content = {"key": key, "seconds": seconds, "result": result}
            temporary.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        self.num_measured += 1
        shown = {k: v for k, v in key.items() if "sha256" not in k}
        logging.info("point %d, %.1f s: %s", self.num_measured, seconds, shown)
        return result


def _read(path: Path, key: dict[str, Any]) -> dict[str, Any]:
    content = read_json(path)
    is_point = isinstance(content, dict) and isinstance(content.get("result"), dict)
    if not is_point or json_hash(content.get("key")) != json_hash(key):
        raise UserError(f"{path}: not the point that its name says")
    return content["result"]
