"""What both protocols have alike."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from cmlm_tf.serving.requests import OPTIONS

SIGNATURE = "serving_default"


#: What a failed check of `checks.require` says, and what TensorFlow writes around it.
_REQUIREMENT = re.compile(
    r"assertion failed: \[(?:([^\]]*) \(rows\)\] \[([^\]]*)|([^\]]*))\]"
)


class ServerError(NamedTuple):
    """What a server says is wrong with a request.

    Attributes:
        text: one line without control characters.
        rows: numbers of rows at fault, from 0; none where it names none.
        has_more: whether further rows are at fault.
    """

    text: str
    rows: tuple[int, ...] = ()
    has_more: bool = False


class Unavailable(Exception):
    """The server cannot take the request now; sent again it may succeed."""


class Refused(Exception):
    """The server has refused the request, failed in it or missed the deadline.

    Attributes:
        error: what the server says.
    """

    def __init__(self, code: str, error: ServerError):
        """Takes the protocol's name of the fault, and what the server says."""
        super().__init__(f"{code}: {error.text}" if code else error.text)
        self.error = error


def request_inputs(
    texts: Sequence[str], options: dict[str, Any]
) -> dict[str, list[Any]]:
    """Returns all inputs of a request, each with one value a text.

    What a request leaves out would be filled in by the server with a single value,
    which a server that merges requests into batches cannot merge, and the REST
    interface wants all inputs named.

    >>> inputs = request_inputs(["a", "b"], {"heuristic": "thresh", "setting": 0.5})
    >>> inputs["text"], inputs["setting"], inputs["length_beam"]
    (['a', 'b'], [0.5, 0.5], [5, 5])
    """
    chosen = {**OPTIONS, **options}
    return {"text": list(texts), **{n: [v] * len(texts) for n, v in chosen.items()}}


def read_error(message: str) -> ServerError:
    r"""Reads a server's error, without the names of the graph's nodes.

    >>> read_error("assertion failed: [setting: too large (rows)] [0 2]\n\t [[{{a}}]]")
    ServerError(text='setting: too large', rows=(0, 2), has_more=False)
    >>> read_error("assertion failed: [text: the batch is empty]\n\t [[{{a}}]]").text
    'text: the batch is empty'
    >>> read_error("no\n\x1bmodel").text
    'no model'
    """
    found = _REQUIREMENT.search(message)
    if not found:
        return ServerError(one_clean_line(message))
    text, rows, alone = found.groups(default="")
    numbers = tuple(map(int, re.findall(r"[0-9]+", rows)))
    return ServerError(one_clean_line(text or alone), numbers, "..." in rows)


def one_clean_line(text: str) -> str:
    r"""Replaces control characters and line ends by blanks, several by one.

    >>> one_clean_line("\x00\x1b[31m bad\x85end")
    '[31m bad end'
    """
    shown = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(shown.split())
