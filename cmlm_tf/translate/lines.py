"""What `translate` is called with: lines, options and references, checked."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from cmlm_tf.errors import UserError


def read_strings(name: str, values: Iterable[str]) -> list[str]:
    """Returns the strings as a list.

    >>> read_strings("lines", ["one", b"two"])
    Traceback (most recent call last):
    cmlm_tf.errors.UserError: lines[1] must be a string, not bytes

    Raises:
        UserError: something else than an iterable of strings.
    """
    is_one = isinstance(values, str | bytes | Mapping)
    if is_one or not isinstance(values, Iterable):
        raise UserError(
            f"{name} must be a list of strings, or another iterable of them, not "
            f"{_named(values)}"
        )
    found = list(values)
    for number, value in enumerate(found):
        if not isinstance(value, str):
            raise UserError(f"{name}[{number}] must be a string, not {_named(value)}")
    return found


def read_options(
    kind: type, options: Any, fields: Mapping[str, Any], num_lines: int
) -> list[Any]:
    """Returns the options of each line.

    >>> from cmlm_tf.translate.options import BeamOptions
    >>> read_options(BeamOptions, None, {"beam_size": 2}, 1)
    [BeamOptions(beam_size=2, length_penalty=0.6)]

    Args:
        kind: the class that the model takes.
        options: one for all lines, an iterable with one for each, or None for the
            defaults.
        fields: by name, in place of those of `options`.
        num_lines: number of lines.

    Raises:
        UserError: options of another class, not as many as lines, or fields that
            there are not.
    """
    known = [field.name for field in dataclasses.fields(kind)]
    for name in fields:
        if name not in known:
            raise UserError(
                f"{kind.__name__} has no {name!r}; there is {', '.join(known)}"
            )
    if options is None or isinstance(options, kind):
        given: Any = kind() if options is None else options
        return [dataclasses.replace(given, **fields)] * num_lines
    is_one = isinstance(options, str | bytes | Mapping)
    if is_one or not isinstance(options, Iterable):
        raise _wrong_options("options", kind, options)
    found = list(options)
    if len(found) != num_lines:
        raise UserError(f"{len(found)} options for {num_lines} lines")
    for number, value in enumerate(found):
        if not isinstance(value, kind):
            raise _wrong_options(f"options[{number}]", kind, value)
    return [dataclasses.replace(value, **fields) for value in found]


def _wrong_options(name: str, kind: type, value: Any) -> UserError:
    return UserError(f"{name}: this model takes {kind.__name__}, not {_named(value)}")


def _named(value: Any) -> str:
    """Names what was given: `a string` says more than its class."""
    names = {str: "one string", type(None): "None"}
    return names.get(type(value), type(value).__name__)
