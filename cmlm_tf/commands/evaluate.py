r"""Scores translations: BLEU, chrF, tokens per iteration, rates of faults.

Example:
  cmlm-evaluate --hypotheses=out.de --references=test.de \
      --target_language=de --decoded=out.jsonl --json=scores.json
"""

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.evaluation.bleu import NUM_RESAMPLES
from cmlm_tf.evaluation.report import evaluate_files, write_report
from cmlm_tf.utils.overwriting import refuse_overwriting

_HYPOTHESES = flags.DEFINE_string(
    "hypotheses", None, "Translations, one a line, not tokenised.", required=True
)
_REFERENCES = flags.DEFINE_string(
    "references", None, "References, one a line, not tokenised.", required=True
)
_TARGET_LANGUAGE = flags.DEFINE_string(
    "target_language", "de", "Two-letter code; zh chooses SacreBLEU's tokenisation."
)
_DECODED = flags.DEFINE_string(
    "decoded", None, "JSON lines of cmlm-decode, for tokens per iteration."
)
_SOURCES = flags.DEFINE_string("sources", None, "Source lines, to count copies of.")
_NUM_RESAMPLES = flags.DEFINE_integer(
    "num_resamples",
    NUM_RESAMPLES,
    "Bootstrap resamples for the 95 % intervals; 0 for none.",
    lower_bound=0,
    upper_bound=100_000,
)
_JSON = flags.DEFINE_string("json", None, "File for the same figures as JSON.")


@cli.command
def run(_) -> None:
    """Prints the scores and writes them where --json says."""
    inputs = (_HYPOTHESES, _REFERENCES, _DECODED, _SOURCES)
    refuse_overwriting(
        {"--json": _JSON.value}, {f"--{flag.name}": flag.value for flag in inputs}
    )
    report = evaluate_files(
        _HYPOTHESES.value,
        _REFERENCES.value,
        _TARGET_LANGUAGE.value,
        _DECODED.value,
        _NUM_RESAMPLES.value,
        _SOURCES.value,
    )
    print(report)
    if _JSON.value is not None:
        write_report(report, _JSON.value)
