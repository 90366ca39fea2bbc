r"""Translates text with a model that TensorFlow Serving serves.

Examples:
  cmlm-translate --server=localhost:8500 < test.en > out.de
  cmlm-translate --server=localhost:8500 --input=test.en --output=out.de \
      --heuristic=comb_thresh --setting=0.3
"""

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.decoding.heuristics import HEURISTICS, LARGEST_SETTING
from cmlm_tf.errors import needs_extra
from cmlm_tf.utils.overwriting import STDIN, STDOUT, refuse_overwriting

_SERVER = flags.DEFINE_string("server", None, "host:port, of gRPC.", required=True)
_MODEL = flags.DEFINE_string("model", "student", "The model's name on the server.")
_INPUT = flags.DEFINE_string("input", None, "Source lines; stdin if left out.")
_OUTPUT = flags.DEFINE_string("output", None, "Translations; stdout if left out.")
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 16, "Lines of a request.")
_CONCURRENCY = flags.DEFINE_integer("concurrency", 4, "Requests at a time.")
_DEADLINE = flags.DEFINE_float(
    "deadline", 60.0, "Seconds for a request, its repetitions included."
)
_RETRIES = flags.DEFINE_integer(
    "retries",
    4,
    "How often to send again while the server is unavailable; gRPC's limit is 4, and "
    "more count as 4.",
)
_OPTIONS = {
    "heuristic": flags.DEFINE_enum("heuristic", None, list(HEURISTICS), "The rule."),
    "setting": flags.DEFINE_float("setting", None, "Its T, K or tau."),
    "target_speedup": flags.DEFINE_float("target_speedup", None, "Or this speed."),
    "length_beam": flags.DEFINE_integer(
        "length_beam", None, "Length candidates, 1 to the export's limit (10)."
    ),
    "max_iterations": flags.DEFINE_integer(
        "max_iterations", None, "Most passes, 1 to 1000000."
    ),
}
for _flag in _OPTIONS["length_beam"], _OPTIONS["max_iterations"]:
    flags.register_validator(
        *(_flag, lambda number: number is None or 0 < number <= LARGEST_SETTING),
        f"must be from 1 to {LARGEST_SETTING}",
    )


@cli.command
def run(_) -> None:
    """Translates."""
    with needs_extra("serving"):
        from cmlm_tf.serving.client import Calling, translate_file
    refuse_overwriting(
        {"--output": _OUTPUT.value or STDOUT}, {"--input": _INPUT.value or STDIN}
    )
    calling = Calling(
        _SERVER.value,
        _MODEL.value,
        _BATCH_SIZE.value,
        _CONCURRENCY.value,
        _DEADLINE.value,
        _RETRIES.value,
    )
    options = {n: flag.value for n, flag in _OPTIONS.items() if flag.value is not None}
    translate_file(calling, _INPUT.value, _OUTPUT.value, options)
