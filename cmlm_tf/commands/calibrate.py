r"""Finds the settings of target speeds and stores them in the model directory.

Then cmlm-decode --target_speedup=4 needs no tau. The text is decoded at a dozen
settings of the heuristic; the same command continues one that was interrupted. Speed is
counted in tokens per iteration, a sentence's iterations being those of its slowest
length candidate. A speed that no setting gives is named, and the command fails; the
other speeds are stored all the same.

Example:
  cmlm-calibrate --model_dir=student/model --dev=dev.en --test=test.en \
      --target_speedup=2,3,4,5,6,7,8
"""

import math
from collections.abc import Sequence

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.calibrate import calibrate
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import UnmaskingOptions

_MODEL_DIR = flags.DEFINE_string("model_dir", None, "The student.", required=True)
_DEV = flags.DEFINE_string("dev", None, "Source lines to measure on.", required=True)
_TEST = flags.DEFINE_string("test", None, "Source lines to check the promises on.")
_TARGETS = flags.DEFINE_list(
    "target_speedup", ["2", "3", "4", "5", "6", "7", "8"], "Tokens per iteration."
)
_HEURISTIC = flags.DEFINE_enum(
    "heuristic", UnmaskingOptions.heuristic, list(HEURISTICS), "Rule."
)
_STRATEGY = flags.DEFINE_enum(
    "strategy", "update_masked_sub", list(STRATEGIES), "Update strategy."
)
_LENGTH_BEAM = flags.DEFINE_integer("length_beam", 5, "Length candidates.")
_DROP = flags.DEFINE_bool(
    "drop_losing_candidates", False, "Calibrate for decoding with this flag."
)
_SENTENCES_PER_BATCH = flags.DEFINE_integer(
    "sentences_per_batch", 128, "Most sentences decoded side by side.", lower_bound=1
)
_REPLACE = flags.DEFINE_bool(
    "replace", False, "Store the new table in place of one from more lines, too."
)
_XLA = flags.DEFINE_bool("xla", None, "As of cmlm-decode.")


@cli.command
def run(_) -> None:
    """Calibrates and prints what was promised and measured."""
    options = UnmaskingOptions(
        _HEURISTIC.value,
        HEURISTICS[_HEURISTIC.value].default,
        _STRATEGY.value,
        _LENGTH_BEAM.value,
        drop_losing_candidates=_DROP.value,
    )
    targets = _numbers(_TARGETS.value)
    translator = load_translator(
        _MODEL_DIR.value,
        role="student",
        sentences_per_batch=_SENTENCES_PER_BATCH.value,
        xla=_XLA.value,
    )
    files = (_DEV.value, options, targets, _TEST.value)
    report = calibrate(translator, _MODEL_DIR.value, *files, _REPLACE.value)
    print(report)
    if missed := report.out_of_reach():
        raise UserError(f"{missed}; what can be reached is stored")


def _numbers(texts: Sequence[str]) -> list[float]:
    try:
        numbers = [float(text) for text in texts]
    except ValueError as error:
        raise UserError(f"target_speedup: {error}") from error
    if not numbers or not all(0 < number < math.inf for number in numbers):
        raise UserError("target_speedup: must be numbers above 0")
    return numbers
