"""What figures and points are of: model, text and label, one of each in a folder."""

from pathlib import Path
from typing import Any

from cmlm_tf.errors import UserError


def identity(result: dict[str, Any]) -> dict[str, Any]:
    """Tells what a figure is of: fields that all figures of a folder share.

    Args:
        result: a figure's `label`, `lines` and `origin`; older ones lack the last.
    """
    lines = {f"lines of {split}": number for split, number in result["lines"].items()}
    return {"label": result["label"], **lines, **result.get("origin", {})}


def check_same(
    known: dict[str, Any], found: dict[str, Any], path: Path, where: str
) -> None:
    """Refuses a file of another model, text or label.

    >>> check_same({"label": "a"}, {"label": "b"}, Path("x.json"), "this run")
    Traceback (most recent call last):
    ...
    cmlm_tf.errors.UserError: x.json: label is 'b', but 'a' in this run: \
each model and text needs a folder of its own

    Args:
        known: what the file must be of.
        found: what it is of; only fields that both have are compared.
        path: the file.
        where: what it is compared with.

    Raises:
        UserError: names the file and the first field that differs.
    """
    for field in (k for k in known if found.get(k, known[k]) != known[k]):
        one, other = (_short(side[field]) for side in (found, known))
        raise UserError(
            f"{path}: {field} is {one}, but {other} in {where}: each model and text "
            "needs a folder of its own"
        )


def _short(value: Any) -> str:
    """Spells a value, of a hash only the beginning."""
    is_hash = isinstance(value, str) and len(value) == 64 and " " not in value
    return f"{value[:12]}..." if is_hash else repr(value)
