"""Measured points, each kept in a folder as soon as it is finished."""

import json
import os
import time
from collections.abc import Callable
from typing import Any

import joblib
from absl import logging


class PointCache:
    """Measures a point unless the folder has it; a killed run loses one at most.

    Attributes:
        num_measured: points that were measured, not read.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        """Opens a folder for joblib's cache; it is made if need be."""
        memory = joblib.Memory(folder, verbose=0)
        self._cached = memory.cache(_measured, ignore=["measure"])
        self.num_measured = 0

    def get(self, key: dict[str, Any], measure: Callable[[], Any]) -> Any:
        """Returns what `measure` returned for a key, now or in an earlier run.

        Args:
            key: all that the point depends on; can be written as JSON.
            measure: called if need be; what it returns can be pickled.
        """

        def counted() -> Any:
            start = time.monotonic()
            result = measure()
            self.num_measured += 1
            seconds = time.monotonic() - start
            logging.info("measured in %.1f s: %s", seconds, _in_short(key))
            return result

        return self._cached(json.dumps(key, sort_keys=True), counted)


def _measured(key: str, measure: Callable[[], Any]) -> Any:
    del key
    return measure()


def _in_short(key: dict[str, Any]) -> str:
    """Spells a key without hashes and without what is off.

    >>> _in_short({"kind": "quality", "text_sha256": "0", "options": {"beam_size": 5}})
    'kind=quality beam_size=5'
    """
    fields = {k: v for k, v in key.items() if k != "options" and "sha256" not in k}
    fields |= key.get("options") or {}
    return " ".join(f"{k}={v}" for k, v in fields.items() if v)
