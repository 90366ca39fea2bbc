r"""Times what each optimisation of a student's passes brings on a CPU.

A predictor of its own, in which each can be left out, takes turns with all of them off
(plain), one on, all but one on, and all on; the package's own is beside it. Printed is
the median, and how many times as fast as plain and as all it is, pair by pair: median,
10th and 90th percentile. A translation may differ at a near-tie, as matrix kernels
differ by shape; those that differ from the first variant's are counted.

Example:
  python -m benchmarks.optimizations --student_dir=student/model \
      --corpus=files:test.en,test.de --lengths=14,31 --output=optimizations.json
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from absl import flags

from benchmarks import flag_checks
from benchmarks.decoding_text import draw_batches, pairs_within
from benchmarks.switched_student import SwitchedPasses, variants
from benchmarks.systems import Batch, System, student_system
from benchmarks.timing import describe_machine, line_of, measure_in_turn
from cmlm_tf.commands import cli
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.modeling.model_dir import LoadedModel, load_model
from cmlm_tf.pretrained import EN_DE_TEST
from cmlm_tf.translate.loading import make_translator
from cmlm_tf.utils.json_files import write_json

#: What the package's own student is called.
_OWN = "the package"

_STUDENT_DIR = flags.DEFINE_string("student_dir", None, "A student.", required=True)
_CORPUS = flags.DEFINE_string(
    "corpus", f"tsv:{EN_DE_TEST}?source=1&target=2", "Test sentences."
)
_SETTING = flags.DEFINE_string("setting", "fixed_k:4", "As HEURISTIC:SETTING.")
_LENGTH_BEAM = flags.DEFINE_integer("length_beam", 3, "Length candidates.", 1)
_LENGTHS = flags.DEFINE_list(
    "lengths", ["1", "100"], "Keep sentences of this many subwords on both sides."
)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 8, "Sentences side by side.", 1)
_NUM_BATCHES = flags.DEFINE_integer("num_batches", 5, "Different batches.", 1)
_ROUNDS = flags.DEFINE_integer("rounds", 10, "Timed runs of each variant.", 1)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file.", required=True)
_VARIANTS = flags.DEFINE_list(
    "variants", [*variants(), _OWN], "Those to time, by what is printed."
)

flag_checks.check_items(_VARIANTS, flags.EnumParser([*variants(), _OWN]).parse, least=1)
flag_checks.check_span(_LENGTHS)
flag_checks.check_items(_SETTING, flag_checks.parse_unmasking, least=1)


def main(argv: Sequence[str]) -> None:
    """Measures every variant and writes all figures."""
    del argv
    flag_checks.check_writable(_OUTPUT)
    loaded = load_model(_STUDENT_DIR.value, role="student")
    subwords = SubwordModel(loaded.subword_path)
    sources, references = zip(*open_corpus(_CORPUS.value), strict=True)
    pairs = list(
        zip(subwords.encode(sources), subwords.encode(references), strict=True)
    )
    pairs = pairs_within(
        pairs, *map(int, _LENGTHS.value), room=loaded.model.config.max_length - 1
    )
    batches = draw_batches(pairs, _BATCH_SIZE.value, _NUM_BATCHES.value, False)
    rows = _measure(_systems(loaded), batches)
    write_json(
        _OUTPUT.value,
        {
            **describe_machine(),
            "flags": {
                flag.name: flag.value
                for flag in flags.FLAGS.get_key_flags_for_module(__name__)
            },
            "rows": rows,
        },
    )


def _systems(loaded: LoadedModel) -> dict[str, System]:
    """Returns all variants, and the package's own student, by name."""

    def system(on: Collection[str] | None) -> System:
        translator = make_translator(
            loaded, sentences_per_batch=_BATCH_SIZE.value, xla=False
        )
        if on is not None:
            translator.passes = SwitchedPasses(loaded.model, on)
        options = dataclasses.replace(
            flag_checks.parse_unmasking(_SETTING.value),
            length_beam=_LENGTH_BEAM.value,
            drop_losing_candidates=on is None or "drop_losing" in on,
        )
        return student_system(translator, options)

    known = {**variants(), _OWN: None}
    return {name: system(known[name]) for name in _VARIANTS.value}


def _measure(systems: Mapping[str, System], batches: Sequence[Batch]) -> list[dict]:
    """Times the systems in turn; prints and returns a row of each."""
    written = {
        name: [list(ids) for batch in batches for ids in system(batch)]
        for name, system in systems.items()
    }
    measured = measure_in_turn(systems, batches, _ROUNDS.value)
    baselines = {name: measured[name] for name in ("plain", "all") if name in measured}
    first, rows = next(iter(written.values())), []
    for name, measurement in measured.items():
        row = {"system": name, "batch_size": _BATCH_SIZE.value}
        row |= measurement.row(baselines)
        pairs = zip(written[name], first, strict=True)
        row["translations_that_differ"] = sum(x != y for x, y in pairs)
        rows.append(row)
        print(line_of(row), f"{row['translations_that_differ']} differ", flush=True)
    return rows


if __name__ == "__main__":
    cli.run(main)
