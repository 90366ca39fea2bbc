"""Translates files with a model that TensorFlow Serving serves."""

import collections
import concurrent.futures
import dataclasses
import functools
import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cmlm_tf.data.text_files import line_writer, read_lines, unbroken
from cmlm_tf.errors import UserError, needs_extra
from cmlm_tf.serving.rest_client import RestClient
from cmlm_tf.serving.wire import Refused, Unavailable
from cmlm_tf.utils.progress import Progress
from cmlm_tf.utils.streams import stdin_path

PROTOCOLS = ("grpc", "rest")

#: A host's name, its IPv4 address or its IPv6 address in brackets, and a port.
_SERVER = re.compile(r"(?:[^\s/:\[\]]+|\[[^\s/\[\]]+\]):([0-9]{1,5})")
_LARGEST_PORT = 2**16 - 1

#: Characters of a line; no model takes so many.
LONGEST_LINE = 100_000

#: Seconds before the second try; each further one waits twice as long.
_FIRST_WAIT = 0.1


@dataclasses.dataclass(frozen=True)
class Calling:
    """How a server is called.

    Attributes:
        server: `host:port`.
        protocol: `grpc` or `rest`.
        model: the name under which the server has the model.
        batch_size: lines of a request.
        concurrency: requests under way at a time.
        deadline: seconds for a request, its repetitions included.
        retries: how often a request is sent again while the server is unavailable.
    """

    server: str
    protocol: str = "grpc"
    model: str = "student"
    batch_size: int = 16
    concurrency: int = 4
    deadline: float = 60.0
    retries: int = 5

    def __post_init__(self):
        if self.protocol not in PROTOCOLS:
            raise UserError(f"protocol must be one of {', '.join(PROTOCOLS)}")
        parts = _SERVER.fullmatch(self.server)
        if not parts or not 0 < int(parts[1]) <= _LARGEST_PORT:
            raise UserError(
                f"server must be host:port, the port from 1 to {_LARGEST_PORT}, "
                f"not {self.server}"
            )
        for name in ("batch_size", "concurrency"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.retries < 0:
            raise UserError(f"retries must not be below 0: {self.retries}")
        if not self.deadline > 0:
            raise UserError(f"deadline must be above 0, not {self.deadline}")


def translate_file(
    calling: Calling,
    source: str | None,
    output: str | None,
    options: dict[str, Any],
) -> None:
    """Translates a file or stdin into a file or stdout, a line for each line.

    Args:
        calling: the server and how it is called.
        source: path of the input lines, or None for stdin.
        output: path of the translations, or None for stdout.
        options: values of the optional inputs, the same for every line.

    Raises:
        UserError: a line is too long, or the server refuses one, cannot be reached
            or misses the deadline. A file is then not written; stdout and pipes may
            hold the translations of the lines before.
    """
    source = source or stdin_path()
    counter = Progress(None, "lines", "translating")
    with (
        _connect(calling) as client,
        line_writer(output) as write,
    ):
        send = functools.partial(_send, calling, client.translate, options, source)
        lines = _checked(read_lines(source), source)
        for translations in in_order(
            send, _batches(lines, calling.batch_size), calling.concurrency
        ):
            for translation in translations:
                write(unbroken(translation))
            counter.advance(len(translations))
    counter.close()


def _connect(calling: Calling) -> Any:
    if calling.protocol == "rest":
        return RestClient(calling.server, calling.model)
    with needs_extra("serving"):
        from cmlm_tf.serving.grpc_client import GrpcClient
    return GrpcClient(calling.server, calling.model)


def in_order(
    function: Callable[[Any], Any], items: Iterator[Any], concurrency: int
) -> Iterator[Any]:
    """Yields `function(item)` of each item in order, several computed at a time.

    No more than `concurrency` items are read ahead of the one that is waited for.

    >>> list(in_order(str.upper, iter("abc"), 2))
    ['A', 'B', 'C']
    """
    waiting: collections.deque = collections.deque()
    with concurrent.futures.ThreadPoolExecutor(concurrency) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) == concurrency:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _checked(lines: Iterator[str], source: str) -> Iterator[str]:
    """Yields lines; refuses one that is not worth sending."""
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE:
            raise UserError(
                f"{source}, line {number}: {len(line)} characters, more than "
                f"{LONGEST_LINE}"
            )
        yield line


def _batches(lines: Iterator[str], size: int) -> Iterator[tuple[int, list[str]]]:
    """Yields batches of lines with the number of the first, from 1."""
    first = 1
    while batch := list(itertools.islice(lines, size)):
        yield first, batch
        first += len(batch)


def _lines(numbers: Sequence[int]) -> str:
    """Names lines, from 1.

    >>> _lines([2]), _lines([2, 3, 4]), _lines([2, 4])
    ('line 2', 'lines 2 to 4', 'lines 2, 4')
    """
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"lines {numbers[0]} to {numbers[-1]}"
    return f"lines {', '.join(map(str, numbers))}"


def _send(
    calling: Calling,
    translate: Callable,
    options: dict[str, Any],
    source: str,
    batch: tuple[int, Sequence[str]],
) -> list[str]:
    """Sends a batch, again while the server is unavailable."""
    first, lines = batch
    end, wait = time.monotonic() + calling.deadline, _FIRST_WAIT
    every = list(range(first, first + len(lines)))
    for tries_left in range(calling.retries, -1, -1):
        left = end - time.monotonic()
        try:
            translations = translate(lines, options, timeout=max(left, 0.001))
        except Refused as error:
            guilty = [first + row for row in error.error.rows] or every
            more = " and more" if error.error.has_more else ""
            where = f"{source}, {_lines(guilty)}{more}"
            raise UserError(f"{where}: {error}") from error
        except Unavailable as error:
            if not tries_left or time.monotonic() + wait >= end:
                raise UserError(f"{calling.server}: unavailable: {error}") from error
            time.sleep(wait)
            wait *= 2
        else:
            if len(translations) != len(lines):
                came = f"{len(translations)} translations came back"
                raise UserError(f"{source}, {_lines(every)}: {came}")
            return translations
    raise AssertionError("not reached")
