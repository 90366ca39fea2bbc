"""What a request may ask for beside its text: inputs, defaults and limits."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from cmlm_tf.decoding.heuristics import HEURISTICS, LARGEST_SETTING
from cmlm_tf.errors import span_inside
from cmlm_tf.serving.checks import after, require
from cmlm_tf.serving.speed_tables import find_settings
from cmlm_tf.translate.calibration import SpeedTable
from cmlm_tf.translate.options import UnmaskingOptions

_DEFAULTS = UnmaskingOptions()

#: What stands for a setting and a speed that are not given, as NaN does, too; JSON
#: has no NaN. Without a setting the heuristic has its default.
NO_SETTING, NO_SPEED = -1.0, 0.0
#: Value of each optional input where a request does not give it.
OPTIONS: dict[str, Any] = {
    "heuristic": _DEFAULTS.heuristic,
    "setting": NO_SETTING,
    "target_speedup": NO_SPEED,
    "length_beam": _DEFAULTS.length_beam,
    "max_iterations": LARGEST_SETTING,
}
DTYPES = {
    "heuristic": tf.string,
    "setting": tf.float32,
    "target_speedup": tf.float32,
    "length_beam": tf.int32,
    "max_iterations": tf.int32,
}


class Request(NamedTuple):
    """The checked options of a batch, one value for each row.

    Attributes:
        rules: int32 `[batch]`, numbers of heuristics in the order of `HEURISTICS`.
        settings: float32 `[batch]`, T, K or tau.
        length_beam: int32 `[batch]`, 1 to what the export allows.
        max_iterations: int32 `[batch]`, at least 1.
    """

    rules: tf.Tensor
    settings: tf.Tensor
    length_beam: tf.Tensor
    max_iterations: tf.Tensor

    def repeat(self, times: int | tf.Tensor) -> "Request":
        """Repeats each row, for the candidates of its sentence."""
        return Request(*(tf.repeat(value, times) for value in self))


def option_specs() -> dict[str, tf.TensorSpec]:
    """Returns the specs of the optional inputs, each `[batch]`."""
    return {n: tf.TensorSpec([None], dtype, name=n) for n, dtype in DTYPES.items()}


def option_defaults() -> dict[str, tf.Tensor]:
    """Returns the defaults as tensors `[1]`, good for a batch of any size."""
    return {name: tf.constant([OPTIONS[name]], DTYPES[name]) for name in OPTIONS}


def request_inputs(
    texts: Sequence[str], options: dict[str, Any]
) -> dict[str, list[Any]]:
    """Returns all inputs of a request, each with one value for each text.

    The default of an input is one value, and a server that merges requests into
    batches cannot merge it with the values of several texts.

    >>> inputs = request_inputs(["a", "b"], {"heuristic": "thresh", "setting": 0.5})
    >>> inputs["text"], inputs["setting"], inputs["length_beam"]
    (['a', 'b'], [0.5, 0.5], [5, 5])
    """
    chosen = {**OPTIONS, **options}
    return {"text": list(texts), **{n: [v] * len(texts) for n, v in chosen.items()}}


def read_request(
    batch_size: tf.Tensor,
    options: dict[str, tf.Tensor],
    max_length_beam: int,
    tables: Sequence[SpeedTable] = (),
) -> Request:
    """Checks the options and brings each to one value a row.

    Args:
        batch_size: int32 scalar.
        options: the inputs of `OPTIONS`, each `[1]` or `[batch]`.
        max_length_beam: the most length candidates of a row.
        tables: the model's calibration, for `target_speedup`.

    Returns:
        The options; whatever uses them waits for the checks.
    """
    rows = {name: _for_each_row(name, options[name], batch_size) for name in OPTIONS}
    matches = rows["heuristic"][:, tf.newaxis] == tf.constant(list(HEURISTICS))
    rules = tf.argmax(matches, axis=1, output_type=tf.int32)
    beam, limit = rows["length_beam"], rows["max_iterations"]
    names = ", ".join(HEURISTICS)
    settings, speed_checks = _settings(rows, rules, tables)
    checks = [
        *speed_checks,
        require(tf.reduce_any(matches, axis=1), f"heuristic: must be one of {names}"),
        *_check_settings(rules, settings),
        require(
            (beam >= 1) & (beam <= max_length_beam),
            f"length_beam: must be from 1 to {max_length_beam}",
        ),
        require(
            (limit >= 1) & (limit <= LARGEST_SETTING),
            f"max_iterations: must be from 1 to {LARGEST_SETTING}",
        ),
    ]
    return Request(
        after(checks, rules),
        after(checks, settings),
        after(checks, beam),
        after(checks, limit),
    )


def _settings(rows, rules, tables) -> tuple[tf.Tensor, list[tf.Operation]]:
    """Returns each row's setting: its own, that of its speed, or the default."""
    settings, targets = rows["setting"], rows["target_speedup"]
    has_setting = ~tf.math.is_nan(settings) & (settings != NO_SETTING)
    has_target = ~tf.math.is_nan(targets) & (targets != NO_SPEED)
    calibrated, found = find_settings(tables, targets, rules, rows["length_beam"])
    defaults = [float(rule.default) for rule in HEURISTICS.values()]
    settings = tf.where(has_setting, settings, tf.gather(defaults, rules))
    checks = [
        require(
            ~(has_setting & has_target), "target_speedup: give it or setting, not both"
        ),
        require(found | ~has_target, f"target_speedup: {_what_is_calibrated(tables)}"),
    ]
    return tf.where(has_target & found, calibrated, settings), checks


def _what_is_calibrated(tables: Sequence[SpeedTable]) -> str:
    if not tables:
        return "the model was not calibrated"
    return "calibrated only for " + "; ".join(
        f"{table.heuristic} with length_beam {table.length_beam} "
        f"{span_inside(*table.span)}"
        for table in tables
    )


def _for_each_row(name, value, batch_size) -> tf.Tensor:
    size = tf.size(value)
    fits = (size == 1) | (size == batch_size)
    check = require(fits, f"{name}: must hold one value or one for each row")
    return tf.broadcast_to(after([check], value), [batch_size])


def _check_settings(rules: tf.Tensor, settings: tf.Tensor) -> list[tf.Operation]:
    """Checks each row's setting by its rule, as `Heuristic.check` does."""
    checks = []
    for number, rule in enumerate(HEURISTICS.values()):
        low, high = rule.limits
        fits = (settings >= low) & (settings <= high)
        if rule.is_whole:
            fits &= tf.floor(settings) == settings
        message = f"setting: {rule.requirement()}"
        checks.append(require((rules != number) | fits, message))
    return checks
