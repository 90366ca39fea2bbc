r"""Finds the settings of target speeds and stores them in the model directory.

Then bin/decode.py --target_speedup=4 needs no tau. Speed is counted in tokens per
iteration, a sentence's iterations being those of its slowest length candidate. A
speed that no setting gives is named, with the limit, and the command fails; the other
speeds are stored all the same.

Example:
  python bin/calibrate.py --model_dir=student/model --dev=dev.en --test=test.en \
      --target_speedup=2,3,4,5,6,7,8
"""

import functools

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.calibrate import calibrate, parse_targets
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import UnmaskingOptions

_MODEL_DIR = flags.DEFINE_string("model_dir", None, "The student.", required=True)
_DEV = flags.DEFINE_string("dev", None, "Source lines to measure on.", required=True)
_TEST = flags.DEFINE_string("test", None, "Source lines to check the promises on.")
_TARGETS = flags.DEFINE_list(
    "target_speedup", ["2", "3", "4", "5", "6", "7", "8"], "Tokens per iteration."
)
_HEURISTIC = flags.DEFINE_enum("heuristic", "comb_thresh", list(HEURISTICS), "Rule.")
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
_XLA = flags.DEFINE_bool("xla", None, "As of bin/decode.py.")


def main(_) -> None:
    """Calibrates and prints what was promised and measured."""
    options = UnmaskingOptions(
        _HEURISTIC.value,
        1,
        _STRATEGY.value,
        _LENGTH_BEAM.value,
        drop_losing_candidates=_DROP.value,
    )
    targets = parse_targets(_TARGETS.value)
    translator = load_translator(
        _MODEL_DIR.value,
        role="student",
        sentences_per_batch=_SENTENCES_PER_BATCH.value,
        xla=_XLA.value,
    )
    files = (_DEV.value, options, targets, _TEST.value)
    report = calibrate(translator, _MODEL_DIR.value, *files, _REPLACE.value)
    print(report)
    if report.out_of_reach:
        raise UserError(f"{report.out_of_reach}; what can be reached is stored")


run = functools.partial(cli.run, main)
