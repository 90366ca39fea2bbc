"""What both protocols have alike."""

import re
from collections.abc import Sequence
from typing import Any

from cmlm_tf.serving.requests import OPTIONS

SIGNATURE = "serving_default"


#: What a failed check of `checks.require` says, and what TensorFlow writes around it.
_REQUIREMENT = re.compile(r"\[(.*?) \(rows\)\] \[(.*?)\]")


class Unavailable(Exception):
    """The server cannot take the request now; sent again it may succeed."""


class Refused(Exception):
    """The server has refused the request, failed in it or missed the deadline."""


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


def error_line(message: str) -> str:
    r"""Returns a server's error as one line, without the names of the graph's nodes.

    >>> error_line("assertion failed: [setting: too large (rows)] [0 2]\n\t [[{{a}}]]")
    'setting: too large (rows 0 2)'
    >>> error_line("no\nmodel")
    'no model'
    """
    found = _REQUIREMENT.search(message)
    text = f"{found[1]} (rows {found[2]})" if found else message
    return " ".join(text.split())
