"""Progress on stderr: a bar on a terminal, log lines elsewhere."""

import datetime
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from absl import logging
from tqdm import tqdm

T = TypeVar("T")

LOG_INTERVAL_SECONDS = 30.0


class Progress:
    """Counts finished work and shows rate and time left on stderr."""

    def __init__(self, total: int | None, unit: str, description: str, done: int = 0):
        """Starts the count.

        Args:
            total: units in all, or None where unknown.
            unit: what is counted, in the plural.
            description: what the work is.
            done: units that an earlier run finished.
        """
        self._total, self._unit, self._description = total, unit, description
        self._done = self._first = done
        self._start = self._last_log = time.monotonic()
        self._bar = None
        if sys.stderr.isatty():
            self._bar = tqdm(
                total=total, unit=f" {unit}", desc=description, initial=done
            )

    def advance(self, count: int = 1) -> None:
        """Adds finished units."""
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
        elif time.monotonic() - self._last_log >= LOG_INTERVAL_SECONDS:
            self._last_log = time.monotonic()
            logging.info("%s", self._line())

    def _line(self) -> str:
        elapsed = max(time.monotonic() - self._start, 1e-9)
        rate = (self._done - self._first) / elapsed
        line = f"{self._description}: {self._done} {self._unit}, {rate:.1f}/s"
        if self._total is None or rate == 0:
            return line
        left = datetime.timedelta(seconds=round((self._total - self._done) / rate))
        return f"{line}, {self._total} in all, {left} left"

    def close(self) -> None:
        """Ends the bar, or logs the final count."""
        if self._bar is not None:
            self._bar.close()
        else:
            logging.info("%s", self._line())


def progress(
    items: Iterable[T], total: int | None, unit: str, description: str
) -> Iterator[T]:
    """Yields the items and shows progress after each.

    Args:
        items: the work.
        total: how many items there are, or None where unknown.
        unit: what is counted, in the plural.
        description: what the work is.

    Yields:
        The items, unchanged.
    """
    counter = Progress(total, unit, description)
    try:
        for item in items:
            yield item
            counter.advance()
    finally:
        counter.close()
