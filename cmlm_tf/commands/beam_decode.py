r"""Translates sharded files with Apache Beam, on this machine or on many.

Each input file gives one output file with as many lines, OUTPUT-00000-of-00008 and
so on. With a teacher's model directory this is distillation: the outputs, joined
in order, are the target side. Needs the extra `beam`.

Examples:
  cmlm-beam-decode --model_dir=teacher/model --input='train.en-*' \
      --output=train.distilled
  cmlm-beam-decode --model_dir=gs://bucket/student ... \
      --beam_options='--runner=DataflowRunner --project=mine --region=europe-west1 \
      --temp_location=gs://bucket/tmp --sdk_container_image=IMAGE'
"""

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.commands.decoding_flags import (
    decoding_options,
    define_decoding_flags,
    refuse_flags,
)
from cmlm_tf.errors import needs_extra

_MODEL_DIR = flags.DEFINE_string("model_dir", None, "The model.", required=True)
_INPUT = flags.DEFINE_string("input", None, "Files, as a pattern.", required=True)
_OUTPUT = flags.DEFINE_string("output", None, "Prefix of the results.", required=True)
_BEAM_OPTIONS = flags.DEFINE_string(
    "beam_options",
    "--runner=DirectRunner",
    "Flags of Beam and its runner, one string; empty for none.",
)
cli.allow_empty(_BEAM_OPTIONS)
_SENTENCES_PER_BATCH = flags.DEFINE_integer(
    "sentences_per_batch", 64, "Most sentences decoded side by side.", lower_bound=1
)
_DTYPE = flags.DEFINE_enum(
    "dtype", "float32", ["float32", "bfloat16"], "bfloat16 is faster and less exact."
)
define_decoding_flags()


@cli.command
def run(_) -> None:
    """Translates and prints the names of the output files."""
    with needs_extra("beam"):
        from cmlm_tf.translate.beam_pipeline import translate_shards
    refuse_flags(("jsonl", "oracle_references", "trace"), "is of cmlm-decode alone")
    for path in translate_shards(
        _INPUT.value,
        _OUTPUT.value,
        _MODEL_DIR.value,
        decoding_options(_MODEL_DIR.value),
        beam_options=_BEAM_OPTIONS.value,
        dtype=_DTYPE.value,
        sentences_per_batch=_SENTENCES_PER_BATCH.value,
    ):
        print(path)
