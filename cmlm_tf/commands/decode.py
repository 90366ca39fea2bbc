r"""Translates text with a model directory, student or teacher.

Examples:
  cmlm-decode --model_dir=student/model --input=test.en --output=out.de
  cmlm-decode --heuristic=mask_predict --num_iterations=10 < test.en
  cmlm-decode --target_speedup=4 --trace=out.html < few.en
  cmlm-decode --model_dir=teacher/model --beam_size=5 < test.en
"""

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.commands.decoding_flags import decoding_options, define_decoding_flags
from cmlm_tf.evaluation.trace_page import trace_page
from cmlm_tf.pretrained import EN_DE_STUDENT
from cmlm_tf.translate.calibration import model_files
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.whole_files import translate_file
from cmlm_tf.utils.overwriting import STDIN, STDOUT, refuse_overwriting

_MODEL_DIR = flags.DEFINE_string(
    "model_dir", str(EN_DE_STUDENT), "The model; by default English-German."
)
_INPUT = flags.DEFINE_string("input", None, "Source lines; stdin if left out.")
_OUTPUT = flags.DEFINE_string("output", None, "Translations; stdout if left out.")
_SENTENCES_PER_BATCH = flags.DEFINE_integer(
    "sentences_per_batch", 64, "Most sentences decoded side by side.", lower_bound=1
)
_XLA = flags.DEFINE_bool(
    "xla", None, "Compile for a few static shapes; by default where there is a GPU."
)
_DTYPE = flags.DEFINE_enum(
    "dtype", "float32", ["float32", "bfloat16"], "bfloat16 is faster and less exact."
)
_DETERMINISTIC = flags.DEFINE_bool(
    "deterministic", False, "One fixed shape: bit-equal in any batch, but slow."
)
define_decoding_flags()


@cli.command
def run(_) -> None:
    """Loads the model and translates."""
    values, options = flags.FLAGS, decoding_options(_MODEL_DIR.value)
    refuse_overwriting(
        {
            "--output": _OUTPUT.value or STDOUT,
            "--jsonl": values.jsonl,
            "--trace": values.trace,
        },
        {
            "--input": _INPUT.value or STDIN,
            "--oracle_references": values.oracle_references,
            **model_files(_MODEL_DIR.value),
        },
    )
    translator = load_translator(
        _MODEL_DIR.value,
        _DTYPE.value,
        sentences_per_batch=_SENTENCES_PER_BATCH.value,
        xla=_XLA.value,
        deterministic=_DETERMINISTIC.value,
    )
    with trace_page(translator, options, values.beside, values.trace) as watch:
        translate_file(
            *(translator, _INPUT.value, _OUTPUT.value, options),
            references=values.oracle_references,
            jsonl=values.jsonl,
            nbest=values.nbest,
            watch=watch,
        )
