r"""Exports a student as a SavedModel for TensorFlow Serving.

Example:
  cmlm-export --model_dir=student/model --output_dir=served/student/1
"""

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.serving.engine import DEVICES
from cmlm_tf.serving.export import export_model

_MODEL_DIR = flags.DEFINE_string("model_dir", None, "The student.", required=True)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Folder to write; its name is the version.", required=True
)
_DTYPE = flags.DEFINE_enum(
    "dtype", "float32", ["float32", "bfloat16"], "bfloat16 is faster and less exact."
)
_DEVICE = flags.DEFINE_enum(
    "device", "cpu", DEVICES, "gpu and tpu: compiled by XLA for few static shapes."
)
_MAX_LENGTH_BEAM = flags.DEFINE_integer(
    "max_length_beam", None, "Most length candidates of a request (default 10)."
)


@cli.command
def run(_) -> None:
    """Writes the SavedModel."""
    export_model(
        _MODEL_DIR.value,
        _OUTPUT_DIR.value,
        _DTYPE.value,
        _DEVICE.value,
        _MAX_LENGTH_BEAM.value,
    )
