r"""Translates the training side by a teacher, line by line, in order.

Example:
  cmlm-distill --config=multi30k:teacher --teacher=teacher/model \
    --config.data.train=files:train.en,train.de --output_dir=distilled

Translates config.data.train. Killed at any point, the same command continues.
Prints the corpus that it made, here files:distilled/source.txt,distilled/target.txt:
the student's --config.data.train.
"""

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.commands.config_flag import define_config_flag
from cmlm_tf.training.distillation import distill

_CONFIG = define_config_flag()
_TEACHER = flags.DEFINE_string(
    "teacher", None, "Model directory of the teacher.", required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Folder that appears when done.", required=True
)
_BEAM_SIZE = flags.DEFINE_integer("beam_size", 5, "Hypotheses per sentence.")
_LENGTH_PENALTY = flags.DEFINE_float("length_penalty", 0.6, "Of Wu et al. (2016).")
_BATCH_SIZE = flags.DEFINE_integer(
    "batch_size", 64, "Sentences side by side.", lower_bound=1, upper_bound=100_000
)
_DTYPE = flags.DEFINE_enum(
    "dtype", "float32", ["float32", "bfloat16"], "bfloat16 is faster on GPU and TPU."
)
_XLA = flags.DEFINE_bool(
    "xla", None, "Compile for a few static shapes; by default where there is a GPU."
)


@cli.command
def run(_) -> None:
    """Distills and prints the corpus."""
    print(
        distill(
            _CONFIG.value,
            _TEACHER.value,
            _OUTPUT_DIR.value,
            beam_size=_BEAM_SIZE.value,
            length_penalty=_LENGTH_PENALTY.value,
            batch_size=_BATCH_SIZE.value,
            dtype=_DTYPE.value,
            xla=_XLA.value,
        )
    )
