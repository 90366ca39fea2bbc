"""What JSON files of points and figures must hold; faults are named by their field."""

import dataclasses
import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cmlm_tf.errors import UserError

#: No number of a figure comes near; what is larger cannot be drawn.
LARGEST = 10**9


@dataclasses.dataclass(frozen=True)
class Between:
    """The shape of a number within bounds.

    Attributes:
        low: the least that it may be.
        high: the most.
    """

    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Checked:
    """A shape, and what its fields must be together.

    Attributes:
        shape: as `require` takes it.
        faults: yields name and fault of fields; called if the shape is right.
    """

    shape: Any
    faults: Callable[[Any], Iterable[tuple[str, str]]]


COUNT = range(1, LARGEST + 1)
SPEED = Between(0.0, LARGEST)
#: Rounding may take BLEU and means a little beyond their bounds.
BLEU = Between(0.0, 100.01)
SHARE = Between(0.0, 1.001)
TEMPERATURE = Between(0.01, 100.0)
#: Of a reference, in subwords: no model has more positions.
LENGTH = range(1, 1 << 14)
#: First ranks of the groups of ranks, counted from 1, the best.
RANKS = (1, 2, 3, 5, 9, 17)

QUALITY: dict[str, Any] = dict.fromkeys(("bleu", "bleu_ci", "chrf"), BLEU)
QUALITY |= dict.fromkeys(("slowest", "selected", "summed"), SPEED)
QUALITY |= {"resampled?": [BLEU]}
GROUP: dict[str, Any] = dict.fromkeys(("confidence", "accuracy", "ece"), SHARE)
GROUP |= {"count": COUNT, "bins": [(COUNT, SHARE, SHARE)]}
_SUMMARY = {
    "temperature": TEMPERATURE,
    "loss": float,
    "all": GROUP,
    "by_iteration": [GROUP],
    "by_rank": [{"first_rank": set(RANKS), **GROUP}],
}


def _uneven(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    passes = len(result["bleu"])
    if len(result.get("resampled", result["bleu"])) != passes:
        yield "resampled", f"must have {passes} entries, as bleu"


#: The result of each kind of point.
POINTS: dict[str, Any] = {
    "quality": QUALITY,
    "passes": Checked(
        {"bleu": [BLEU], "slowest": SPEED, "resampled?": [[BLEU]]}, _uneven
    ),
    "iterations": {"lengths": {LENGTH: (COUNT, COUNT, COUNT)}, "speed": SPEED},
    "reliability": {"before": _SUMMARY, "after": _SUMMARY},
    "length_classifier": {"within": {str: SHARE}, "contained": [SHARE]},
}


def require(content: Any, shape: Any, path: str) -> Any:
    """Checks the content of a JSON file.

    A shape is `int`, `float` or `str`; a `range`, `Between`, or a set of values that
    may be; a list with the shape of its entries, of which there must be one unless
    `...` follows; a tuple with the shapes of a list of that length; a dict with the
    shapes of fields that must be there (a name that ends in ? may be missing), or of
    all fields under `str`, or under a range if their names are numbers of it; or
    `Checked`.

    >>> require({"a": [1, 2]}, {"a": [float]}, "x.json")
    {'a': [1, 2]}
    >>> require({"a": [1, None]}, {"a": [float]}, "x.json")
    Traceback (most recent call last):
    ...
    cmlm_tf.errors.UserError: x.json: a[1]: must be a number

    Args:
        content: of the file.
        shape: what it must be.
        path: of the file, for the error.

    Returns:
        The content.

    Raises:
        UserError: names the first field that is missing or wrong.
    """
    for name, fault in _faults(content, shape, ""):
        raise UserError(f"{path}: {name.lstrip('.') or 'content'}: {fault}")
    return content


def is_plain(text: str) -> bool:
    r"""Tells whether a text is one line that every file and plot can hold.

    >>> is_plain("größer $ |"), is_plain("a\nb"), is_plain("\udcff")
    (True, False, False)
    """
    return not any(
        unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in "\ufffe\uffff"
        for c in text
    )


def _faults(value: Any, shape: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yields the names of fields and what is wrong with them."""
    if isinstance(shape, Checked):
        faults = list(_faults(value, shape.shape, name))
        yield from faults or ((f"{name}.{k}", v) for k, v in shape.faults(value))
    elif isinstance(shape, dict):
        if isinstance(value, dict):
            yield from _faults_of_fields(value, shape, name)
        else:
            yield name, "must be an object"
    elif isinstance(shape, (list, tuple)):
        yield from _faults_of_list(value, shape, name)
    elif fault := _fault(value, shape):
        yield name, fault


def _faults_of_fields(
    value: dict[str, Any], shape: dict[Any, Any], name: str
) -> Iterator[tuple[str, str]]:
    for field, inner in shape.items():
        if isinstance(field, str):
            key = field.removesuffix("?")
            if key in value:
                yield from _faults(value[key], inner, f"{name}.{key}")
            elif key == field:
                yield f"{name}.{key}", "is missing"
            continue
        for key, entry in value.items():
            is_known = is_plain(key) if field is str else _is_in(key, field)
            if is_known:
                yield from _faults(entry, inner, f"{name}.{key}")
            else:
                yield name, f"{ascii(key)} is no name of a field"


def _is_in(key: str, numbers: range) -> bool:
    """Tells whether a field's name is a number as JSON would have it.

    >>> _is_in("3", range(1, 9)), _is_in("03", range(1, 9)), _is_in("x", range(1, 9))
    (True, False, False)
    """
    is_number = key.isascii() and key.isdigit() and len(key) < 10
    return is_number and str(int(key)) == key and int(key) in numbers


def _faults_of_list(
    value: Any, shape: list[Any] | tuple[Any, ...], name: str
) -> Iterator[tuple[str, str]]:
    may_be_empty = isinstance(shape, list) and shape[1:] == [...]
    if not isinstance(value, list) or not (value or may_be_empty):
        yield name, "must be a list with entries"
    elif isinstance(shape, tuple) and len(value) != len(shape):
        yield name, f"must have {len(shape)} entries"
    else:
        shapes = shape if isinstance(shape, tuple) else shape[:1] * len(value)
        for i, (entry, inner) in enumerate(zip(value, shapes, strict=True)):
            yield from _faults(entry, inner, f"{name}[{i}]")


def _fault(value: Any, shape: Any) -> str | None:
    """Tells what is wrong with a number or a text."""
    if shape is str:
        if not isinstance(value, str):
            return "must be a text"
        return None if is_plain(value) else "must be one line of UTF-8"
    if isinstance(shape, set):
        names = ", ".join(map(str, sorted(shape)))
        is_known = isinstance(value, (str, int)) and value in shape
        return None if is_known else f"must be one of {names}"
    whole = shape is int or isinstance(shape, range)
    kinds = (int,) if whole else (int, float)
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if not is_number or (isinstance(value, float) and not math.isfinite(value)):
        return f"must be a {'whole ' if whole else ''}number"
    if isinstance(shape, range):
        step = f" in steps of {shape.step}" if shape.step > 1 else ""
        bounds = f"from {shape[0]} to {shape[-1]}{step}"
        return None if value in shape else f"must be a whole number {bounds}"
    if not isinstance(shape, Between):
        shape = Between(-LARGEST, LARGEST)
    if not shape.low <= value <= shape.high:
        return f"must be a number from {shape.low:g} to {shape.high:g}"
    return None
