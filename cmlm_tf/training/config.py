"""Checks a training config against the base config, which names every field."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ml_collections

from cmlm_tf.configs import base
from cmlm_tf.errors import UserError

#: The most that a whole number without another limit may be.
_MOST = 10**12
#: Attention needs memory for the square of a row.
_LONGEST_ROW = 2**14


class Field(NamedTuple):
    """What one field may hold."""

    accepts: Callable[[Any], bool]
    expected: str  # What it accepts, in words.


def _whole(low: int, high: int = _MOST) -> Field:
    return Field(
        lambda x: isinstance(x, int) and not isinstance(x, bool) and low <= x <= high,
        f"a whole number from {low} " + ("up" if high == _MOST else f"to {high}"),
    )


def _number(low: float, high: float, expected: str) -> Field:
    def accepts(x):
        is_number = isinstance(x, (int, float)) and not isinstance(x, bool)
        return is_number and low <= x <= high

    return Field(accepts, expected)


def _choice(*choices: str) -> Field:
    return Field(lambda x: x in choices, "one of " + ", ".join(choices))


def _are_row_lengths(x: Any) -> bool:
    lengths = list(x) if isinstance(x, (tuple, list)) else []
    whole = all(_whole(1, _LONGEST_ROW).accepts(length) for length in lengths)
    return bool(lengths) and whole and lengths == sorted(set(lengths))


_RATE = _number(0, math.nextafter(1, 0), "a number from 0 to below 1")

#: What a field may hold, by the type of its value in the base config.
_BY_TYPE = {
    bool: Field(lambda x: isinstance(x, bool), "True or False"),
    int: _whole(1),
    float: _number(math.ulp(0), _MOST, "a number above 0"),
    str: Field(lambda x: isinstance(x, str) and x != "", "text, and not empty"),
}

#: What a field may hold where its type does not say it.
_BY_NAME = {
    "role": _choice("teacher", "student"),
    "seed": _whole(0, 2**32 - 1),
    "model.dropout": _RATE,
    "model.max_length": _whole(2),
    "data.max_length_ratio": _number(1, _MOST, "a number from 1 up"),
    "data.row_lengths": Field(
        _are_row_lengths, f"rising whole numbers from 1 to {_LONGEST_ROW}"
    ),
    "data.tokens_per_batch": _whole(1, 2**24),
    "training.initial_dir": Field(lambda x: isinstance(x, str), "text, or empty"),
    "training.cooldown_steps": _whole(0),
    "training.label_smoothing": _RATE,
    "training.ema_decay": _RATE,
    "training.dtype": _choice("float32", "mixed_bfloat16"),
    "evaluation.bleu_sentences": _whole(0),
    "evaluation.select_by": _choice("token_loss", "bleu"),
    "evaluation.patience": _whole(0),
    "evaluation.setting": _number(-math.inf, math.inf, "a number"),
    "student.length_loss_weight": _number(0, _MOST, "a number from 0 up"),
}

#: Fields that change when a run reports and ends, not what it computes.
FREE_FIELDS = frozenset(
    {"training.max_steps", "training.log_every", "training.checkpoint_every"}
)


def flat_fields(config: ml_collections.ConfigDict, prefix: str = "") -> dict[str, Any]:
    """Lists a config's values under dotted names.

    >>> flat_fields(ml_collections.ConfigDict({"a": {"b": 1}, "c": (2, 3)}))
    {'a.b': 1, 'c': (2, 3)}
    """
    fields: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, ml_collections.ConfigDict):
            fields |= flat_fields(value, f"{prefix}{name}.")
        else:
            fields[prefix + name] = value
    return dict(sorted(fields.items()))


def validate_config(config: ml_collections.ConfigDict) -> None:
    """Checks every field of a training config.

    Args:
        config: as the files in configs/ return it.

    Raises:
        UserError: names each field that is unknown, missing or out of range.
    """
    # Not isinstance: what stands for a missing file raises OSError at any access.
    if not hasattr(config, "to_dict"):
        raise UserError(f"config must be a ConfigDict, not {type(config).__name__}")
    fields = flat_fields(config)
    known = flat_fields(base.get_config(fields.get("role", "")))
    faults = [f"config.{name} is unknown" for name in fields if name not in known]
    for name, usual in known.items():
        field = _BY_NAME.get(name) or _BY_TYPE[type(usual)]
        if name not in fields:
            faults.append(f"config.{name} is missing")
        elif not field.accepts(fields[name]):
            faults.append(
                f"config.{name} must be {field.expected}, not {fields[name]!r}"
            )
    faults = faults or list(_faults_between_fields(fields))
    if faults:
        raise UserError("; ".join(faults))


def _faults_between_fields(fields: dict[str, Any]) -> Iterator[str]:
    execution = fields["training.steps_per_execution"]
    for name in sorted(FREE_FIELDS | {"evaluation.every"}):
        if fields[name] % execution:
            yield (
                f"config.{name} must be a multiple of "
                f"config.training.steps_per_execution, {execution}"
            )
    longest, max_length = max(fields["data.row_lengths"]), fields["model.max_length"]
    limit = f"config.model.max_length, {max_length}"
    if longest < max_length:
        yield f"config.data.row_lengths must reach {limit}"
    if fields.get("evaluation.length_beam", 1) > max_length:
        yield f"config.evaluation.length_beam must be at most {limit}"
    if fields["data.tokens_per_batch"] < longest:
        yield (
            "config.data.tokens_per_batch must hold the longest row of "
            f"config.data.row_lengths, {longest}"
        )
    by_bleu = fields["evaluation.select_by"] == "bleu"
    if by_bleu and not fields["evaluation.bleu_sentences"]:
        yield (
            "config.evaluation.bleu_sentences must be above 0 where "
            "config.evaluation.select_by is bleu"
        )
