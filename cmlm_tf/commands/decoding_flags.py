"""The flags by which commands choose how to decode."""

import dataclasses
import os
from collections.abc import Sequence

from absl import flags, logging

from cmlm_tf.decoding.heuristics import HEURISTICS, Heuristic
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import read_description
from cmlm_tf.translate.calibration import KEY_FIELDS, load_calibration
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions

_STUDENT_FLAGS = ("heuristic", "target_speedup", "passes", "trace", "beside")
#: What would change the speed that was calibrated.
_UNCALIBRATED_FLAGS = ("oracle_references", "max_iterations", "forbid_repeats")
_BEAM_FLAGS = ("beam_size", "length_penalty")
_UNMASKING_FLAGS = (
    "strategy",
    "length_beam",
    "oracle_spread",
    "max_iterations",
    "drop_losing_candidates",
    "forbid_repeats",
)

#: Flags that do nothing without another.
_NEEDS = {
    "nbest": "jsonl",
    "passes": "nbest",
    "beside": "trace",
    "oracle_spread": "oracle_references",
}

# The command's --help tells of the flags that it defines through this module.
flags.disclaim_key_flags()


def define_decoding_flags() -> None:
    """Defines the flags that `decoding_options` reads."""
    define_rule_flags()
    flags.DEFINE_float(
        "target_speedup",
        None,
        "Tokens per iteration, instead of a setting; needs cmlm-calibrate first.",
    )
    flags.DEFINE_enum(
        "strategy", None, list(STRATEGIES), "Update strategy (update_masked_sub)."
    )
    flags.DEFINE_integer("length_beam", None, "Length candidates (default 5).")
    flags.DEFINE_string(
        "oracle_references", None, "Target lines whose lengths to use (oracle lengths)."
    )
    flags.DEFINE_integer(
        "oracle_spread", None, "How far candidates lie around oracle lengths (0)."
    )
    flags.DEFINE_integer(
        "max_iterations", None, "Bound of the passes (the longest target's subwords)."
    )
    flags.DEFINE_bool(
        "drop_losing_candidates",
        None,
        "Stop candidates that cannot win: same text, faster, their scores unknown.",
    )
    flags.DEFINE_bool(
        "forbid_repeats",
        None,
        "Of neighbours with one token in a pass, predict the less probable again.",
    )
    flags.DEFINE_string("jsonl", None, "JSON lines: text, score, iterations.")
    flags.DEFINE_bool("nbest", False, "JSON with all candidates; needs --jsonl.")
    flags.DEFINE_bool("passes", None, "JSON with every pass; needs --nbest.")
    flags.DEFINE_string("trace", None, "HTML page that shows every pass.")
    flags.DEFINE_string(
        "beside",
        None,
        "HEURISTIC:SETTING to show beside in the page, or none (mask_predict:5; beside "
        "mask_predict comb_thresh:0.1).",
    )
    flags.DEFINE_integer("beam_size", None, "A teacher's beam; 1 is greedy (5).")
    flags.DEFINE_float("length_penalty", None, "A teacher's length penalty (0.6).")


def define_rule_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Defines `--heuristic`, and a flag for each kind of setting."""
    flags.DEFINE_enum(
        "heuristic",
        None,
        list(HEURISTICS),
        f"What a student unmasks ({UnmaskingOptions.heuristic}).",
        flag_values=flag_values,
    )
    for name, rules in _rules_by_flag().items():
        define = flags.DEFINE_integer if rules[0].is_whole else flags.DEFINE_float
        names = ", ".join(f"{rule.name} ({rule.default:g})" for rule in rules)
        text = f"{rules[0].symbol} of {names}; {rules[0].requirement()}."
        define(name, None, text, flag_values=flag_values)


def _rules_by_flag() -> dict[str, list[type[Heuristic]]]:
    """Returns the rules by the flag that has their setting."""
    by_flag: dict[str, list[type[Heuristic]]] = {}
    for rule in HEURISTICS.values():
        by_flag.setdefault(rule.setting_name(), []).append(rule)
    return by_flag


def read_rule(flag_values: flags.FlagValues = flags.FLAGS) -> tuple[str, float]:
    """Reads the flags of `define_rule_flags`.

    Returns:
        A heuristic and its setting.

    Raises:
        UserError: the setting of another rule is given.
    """
    name = flag_values["heuristic"].value or UnmaskingOptions.heuristic
    rule = HEURISTICS[name]
    own = rule.setting_name()
    others = [flag for flag in _rules_by_flag() if flag != own]
    reason = f"is no setting of --heuristic={name}, --{own} is"
    refuse_flags(others, reason, flag_values)
    setting = flag_values[own].value
    return name, rule.default if setting is None else setting


def decoding_options(
    model_dir: str | os.PathLike[str],
) -> UnmaskingOptions | BeamOptions:
    """Builds the options that the flags ask for.

    Args:
        model_dir: the model directory of a teacher or a student.

    Raises:
        UserError: a value out of range, a flag that would do nothing, or a target
            speed that the model was not calibrated for.
    """
    role = read_description(model_dir)["role"]
    values = flags.FLAGS.flag_values_dict()
    for name, other in _NEEDS.items():
        if values[name] and not values[other]:
            raise UserError(f"--{name} needs --{other}")
    if role == "teacher":
        of_students = (*_STUDENT_FLAGS, *_UNMASKING_FLAGS, *_rules_by_flag())
        refuse_flags(of_students, "needs a student model")
        return BeamOptions(**_given(values, _BEAM_FLAGS))
    refuse_flags(_BEAM_FLAGS, "needs a teacher model")
    trace = bool(values["passes"])
    given = _given(values, _UNMASKING_FLAGS)
    options = UnmaskingOptions(*read_rule(), trace=trace, **given)
    if values["target_speedup"] is None:
        return options
    refuse_flags(list(_rules_by_flag()), "is what --target_speedup finds")
    refuse_flags(_UNCALIBRATED_FLAGS, "is not calibrated: no --target_speedup then")
    return _calibrated(options, model_dir, values["target_speedup"])


def _calibrated(
    options: UnmaskingOptions, model_dir: str | os.PathLike[str], target: float
) -> UnmaskingOptions:
    """Takes the setting that gives a target speed by the model's calibration."""
    calibration = load_calibration(model_dir)
    if calibration is None:
        raise UserError(f"{model_dir}: not calibrated; run cmlm-calibrate first")
    key = {name: getattr(options, name) for name in KEY_FIELDS}
    point = calibration.promise(target, **key)
    logging.info(
        "%s %g: %.2f tokens per iteration on the text of the calibration",
        options.heuristic,
        point.setting,
        point.speedup,
    )
    return dataclasses.replace(options, setting=point.setting)


def refuse_flags(
    names: Sequence[str], reason: str, flag_values: flags.FlagValues = flags.FLAGS
) -> None:
    """Raises a `UserError` if one of these flags is given."""
    for name in names:
        flag = flag_values[name]
        if flag.value is not False and flag.value != flag.default:
            raise UserError(f"--{name} {reason}")


def _given(values, names):
    return {name: values[name] for name in names if values[name] is not None}
