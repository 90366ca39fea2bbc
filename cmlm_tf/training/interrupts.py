"""Ctrl-C and SIGTERM end a run at a good moment."""

import contextlib
import os
import signal
from collections.abc import Iterator

_INTERRUPTED = 130


class Interrupts:
    """Turns Ctrl-C and SIGTERM into a stop where `check` is called.

    A second signal ends the process at once.
    """

    _requested = False

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """Catches both signals inside the `with` block."""
        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self._request) for number in signals]
        try:
            yield
        finally:
            for number, handler in zip(signals, before, strict=True):
                signal.signal(number, handler)

    def _request(self, number, frame):
        if self._requested:
            os._exit(_INTERRUPTED)
        self._requested = True

    def check(self) -> None:
        """Raises KeyboardInterrupt if a signal came."""
        if self._requested:
            raise KeyboardInterrupt
