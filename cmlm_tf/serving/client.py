"""Translates files with a model that TensorFlow Serving serves."""

import collections
import concurrent.futures
import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cmlm_tf.data.text_files import line_writer, read_lines, unbroken
from cmlm_tf.errors import UserError
from cmlm_tf.serving.grpc_client import GrpcClient, RequestError
from cmlm_tf.utils.progress import Progress
from cmlm_tf.utils.streams import stdin_path

#: A host's name, its IPv4 address or its IPv6 address in brackets, and a port.
_SERVER = re.compile(r"(?:[^\s/:\[\]]+|\[[^\s/\[\]]+\]):([0-9]{1,5})")
_LARGEST_PORT = 2**16 - 1

#: Characters of a line; no model takes so many.
LONGEST_LINE = 100_000


@dataclasses.dataclass(frozen=True)
class Calling:
    """How a server is called.

    Attributes:
        server: `host:port`.
        model: the name under which the server has the model.
        batch_size: lines of a request.
        concurrency: requests under way at a time.
        deadline: seconds for a request, its repetitions included.
        retries: how often gRPC sends a request again while the server is
            unavailable; more than 4 count as 4.
    """

    server: str
    model: str = "student"
    batch_size: int = 16
    concurrency: int = 4
    deadline: float = 60.0
    retries: int = 4

    def __post_init__(self):
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
        GrpcClient(
            calling.server, calling.model, calling.deadline, calling.retries
        ) as client,
        line_writer(output) as write,
    ):
        send = functools.partial(_send, client, calling.server, options, source)
        lines = _checked(read_lines(source), source)
        for translations in in_order(
            send, _batches(lines, calling.batch_size), calling.concurrency
        ):
            for translation in translations:
                write(unbroken(translation))
            counter.advance(len(translations))
    counter.close()


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
    client: GrpcClient,
    server: str,
    options: dict[str, Any],
    source: str,
    batch: tuple[int, Sequence[str]],
) -> list[str]:
    """Sends a batch, the number of its first line and the lines."""
    first, lines = batch
    every = range(first, first + len(lines))
    try:
        translations = client.translate(lines, options)
    except RequestError as error:
        if error.is_unavailable:
            raise UserError(f"{server}: unavailable: {error}") from error
        guilty = [first + row for row in error.rows] or every
        more = " and more" if error.has_more else ""
        raise UserError(f"{source}, {_lines(guilty)}{more}: {error}") from error
    if len(translations) != len(lines):
        came = f"{len(translations)} translations came back"
        raise UserError(f"{source}, {_lines(every)}: {came}")
    return translations
