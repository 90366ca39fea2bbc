r"""Trains a teacher or a student; a stopped run goes on where it was.

Example:
  bin/train.py --config=configs/multi30k.py:teacher --output_dir=teacher \
    --config.data.train=files:train.en,train.de \
    --config.data.dev=files:dev.en,dev.de \
    --config.data.subword_model=subword.model

Prints the model directory. For a student, say configs/multi30k.py:student and
give --config.student.teacher_dir=teacher/model.
"""

import functools

from absl import flags
from ml_collections import config_flags

from cmlm_tf.commands import cli
from cmlm_tf.training.distribution import DISTRIBUTIONS
from cmlm_tf.training.trainer import train

_CONFIG = config_flags.DEFINE_config_file(
    "config", None, "Config file and role, such as configs/multi30k.py:teacher."
)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Folder of this run alone.", required=True
)
_DISTRIBUTE = flags.DEFINE_enum(
    "distribute", "one_device", DISTRIBUTIONS, "Devices that train together."
)
flags.mark_flag_as_required("config")


def main(_) -> None:
    """Trains and prints the model directory."""
    print(train(_CONFIG.value, _OUTPUT_DIR.value, _DISTRIBUTE.value))


run = functools.partial(cli.run, main)
