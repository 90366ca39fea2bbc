"""What JSON files of points and figures must hold; faults are named by their field."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cmlm_tf.errors import UserError
from cmlm_tf.json_files import read_json

_QUALITY: dict[str, Any] = dict.fromkeys(
    ("bleu", "bleu_ci", "chrf", "slowest", "selected", "summed"), float
)
_QUALITY |= {"resampled?": [float]}
_GROUP = {"count": int, "confidence": float, "accuracy": float, "ece": float}
_GROUP |= {"bins": [(int, float, float)]}  # type: ignore[dict-item]
_SUMMARY = {
    "temperature": float,
    "loss": float,
    "all": _GROUP,
    "by_iteration": [_GROUP],
    "by_rank": [{"first_rank": int, **_GROUP}],
}
#: The result of each kind of point.
POINTS: dict[str, Any] = {
    "quality": _QUALITY,
    "beams": {"beams": [_QUALITY]},
    "passes": {"bleu": [float], "slowest": float, "resampled?": [[float]]},
    "iterations": {"lengths": {str: (int, int, int)}, "speed": float},
    "reliability": {"before": _SUMMARY, "after": _SUMMARY},
    "length_classifier": {"within": {str: float}, "contained": [float]},
}

_SETTING = {"system": str, "setting": str}
_ERRORS = {str: {"mean": float, "largest": float}}
#: What a figure holds beside its name, its label and the numbers of lines.
FIGURES: dict[str, Any] = {
    "tradeoff": {"rows": [_SETTING | _QUALITY]},
    "strategies": {
        "rows": [{"system": str, "length_beam": int} | _QUALITY],
        "iterations": int,
    },
    "passes": {
        "rows": [
            _SETTING
            | {"target": float, "speed": float, "iteration": int}
            | {"bleu": float, "bleu_ci": float, "resampled?": [float]}
        ]
    },
    "lengths": {
        "rows": [
            _SETTING | {"first_length": int, "count": int, "mean": float, "std": float}
        ],
        "speeds": {str: {"setting": str, "speed": float}},
    },
    "dev_test": {
        "rows": [_SETTING | {"dev": float, "test": float, "error": float}],
        "errors": _ERRORS,
    },
    "promises": {
        "rows": [
            _SETTING
            | {"target": float, "promised": float, "measured": float, "error": float}
        ],
        "errors": _ERRORS,
        "dev_decodings": {str: int},
    },
    "length_classifier": {"rows": [{"measure": str, "share": float}]},
    "probabilities": {
        "rows": [{"temperature": float, "group": str} | _GROUP],
        "temperature": float,
        "loss": {str: float},
    },
    "temperature": {
        "rows": [{"temperature": float} | _SETTING | _QUALITY],
        "temperature": float,
    },
}


def read_figure(path: Path) -> dict[str, Any]:
    """Reads a figure's JSON file.

    Args:
        path: named after the figure, a key of `FIGURES`.

    Raises:
        UserError: it is missing or damaged; names the file and the field.
    """
    head = {"figure": str, "label": str, "lines": {str: int}}
    return require(read_json(path), head | FIGURES[path.stem], str(path))


def require(content: Any, shape: Any, path: str) -> Any:
    """Checks the content of a JSON file.

    A shape is `int`, `float` or `str`; a list with the shape of its entries, of which
    there must be one; a tuple with the shapes of a list of that length; or a dict
    with the shapes of fields that must be there (a name that ends in ? may be missing),
    or of all fields under `str`.

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


def _faults(value: Any, shape: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yields the names of fields and what is wrong with them."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            yield name, "must be an object"
            return
        for field, inner in shape.items():
            for key in value if field is str else [field.removesuffix("?")]:
                if key in value:
                    yield from _faults(value[key], inner, f"{name}.{key}")
                elif key == field:
                    yield f"{name}.{key}", "is missing"
    elif isinstance(shape, (list, tuple)):
        yield from _faults_of_list(value, shape, name)
    elif shape is str:
        if not isinstance(value, str):
            yield name, "must be a text"
    elif not _is_number(value, shape):
        yield name, f"must be a {'whole ' if shape is int else ''}number"


def _faults_of_list(
    value: Any, shape: list[Any] | tuple[Any, ...], name: str
) -> Iterator[tuple[str, str]]:
    if not isinstance(value, list) or not value:
        yield name, "must be a list with entries"
    elif isinstance(shape, tuple) and len(value) != len(shape):
        yield name, f"must have {len(shape)} entries"
    else:
        shapes = shape if isinstance(shape, tuple) else shape * len(value)
        for i, (entry, inner) in enumerate(zip(value, shapes, strict=True)):
            yield from _faults(entry, inner, f"{name}[{i}]")


def _is_number(value: Any, kind: type) -> bool:
    kinds = (int,) if kind is int else (int, float)
    is_kind = isinstance(value, kinds) and not isinstance(value, bool)
    return is_kind and math.isfinite(value)
