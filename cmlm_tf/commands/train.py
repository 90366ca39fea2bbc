r"""Trains a teacher or a student; a stopped run continues.

Example:
  cmlm-train --config=multi30k:teacher --output_dir=teacher \
    --config.data.train=files:train.en,train.de \
    --config.data.dev=files:dev.en,dev.de \
    --config.data.subword_model=subword.model

Prints the model directory. For a student, say --config=multi30k:student and
give --config.student.teacher_dir=teacher/model.
"""

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.commands.config_flag import define_config_flag
from cmlm_tf.training.distribution import DISTRIBUTIONS
from cmlm_tf.training.trainer import train

_CONFIG = define_config_flag()
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Folder of this run alone.", required=True
)
_DISTRIBUTE = flags.DEFINE_enum(
    "distribute", "one_device", DISTRIBUTIONS, "Devices that train together."
)


@cli.command
def run(_) -> None:
    """Trains and prints the model directory."""
    print(train(_CONFIG.value, _OUTPUT_DIR.value, _DISTRIBUTE.value))
