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

import tensorflow as tf
from absl import flags

from benchmarks import flag_checks
from benchmarks.decoding_text import draw_batches, pairs_within
from benchmarks.systems import Batch, System, student_system
from benchmarks.timing import describe_machine, line_of, measure_in_turn
from cmlm_tf import cli
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.json_files import write_json
from cmlm_tf.modeling.compaction import Compaction, take
from cmlm_tf.modeling.model_dir import LoadedModel, load_model
from cmlm_tf.modeling.output import best_tokens
from cmlm_tf.modeling.student import ConditionalMaskedLM, run_decoder
from cmlm_tf.special_ids import PAD_ID
from cmlm_tf.translator import make_translator

#: What can be left out, by name. The last layer at wanted positions goes with the
#: vocabulary there.
OPTIMIZATIONS = {
    "shared_sources": "candidates share their source's keys and values, uncopied",
    "wanted_logits": "the vocabulary at wanted positions only",
    "wanted_last_layer": "the last layer's queries and feed-forward there only",
    "finished_leave": "sentences and candidates without a masked position leave",
    "no_padding": "one stream without padding for all but attention",
    "drop_losing": "candidates that cannot win any more stop",
}

#: What the package's own student is called.
_OWN = "the package"

_STUDENT_DIR = flags.DEFINE_string("student_dir", None, "A student.", required=True)
_CORPUS = flags.DEFINE_string("corpus", "grammar:test?size=500", "Test sentences.")
_SETTING = flags.DEFINE_string("setting", "fixed_k:4", "As HEURISTIC:SETTING.")
_LENGTH_BEAM = flags.DEFINE_integer("length_beam", 3, "Length candidates.", 1)
_LENGTHS = flags.DEFINE_list(
    "lengths", ["1", "100"], "Keep sentences of this many subwords on both sides."
)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 8, "Sentences side by side.", 1)
_NUM_BATCHES = flags.DEFINE_integer("num_batches", 5, "Different batches.", 1)
_ROUNDS = flags.DEFINE_integer("rounds", 10, "Timed runs of each variant.", 1)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file.", required=True)


def variants() -> dict[str, frozenset[str]]:
    """Returns what is switched on, by the name of each variant.

    >>> {name: len(on) for name, on in variants().items() if "wanted" in name}
    {'wanted_logits': 1, 'wanted_last_layer': 2, 'all but wanted_logits': 4, \
'all but wanted_last_layer': 5}
    """
    every, needs = frozenset(OPTIMIZATIONS), {"wanted_last_layer": "wanted_logits"}
    alone, without = {}, {}
    for name in OPTIMIZATIONS:
        alone[name] = frozenset([name, needs.get(name, name)])
        without[f"all but {name}"] = every - {
            other for other in every if name in (other, needs.get(other))
        }
    return {"plain": frozenset(), **alone, **without, "all": every}


_VARIANTS = flags.DEFINE_list(
    "variants", [*variants(), _OWN], "Those to time, by what is printed."
)

flag_checks.check_items(_VARIANTS, flags.EnumParser([*variants(), _OWN]).parse, least=1)
flag_checks.check_span(_LENGTHS)
flag_checks.check_items(_SETTING, flag_checks.parse_unmasking, least=1)


class SwitchedStudent:
    """A student whose passes have some of the optimisations; else it is the same."""

    def __init__(self, model: ConditionalMaskedLM, switched_on: Collection[str]):
        """Takes a student and names of `OPTIMIZATIONS`."""
        self._model, self._on = model, frozenset(switched_on)

    def __getattr__(self, name):
        """Reads everything else off the student."""
        return getattr(self._model, name)

    def predict_fn(self, cache, num_candidates, static, read_fn=None, **kwargs):
        """Does what `ConditionalMaskedLM.predict_fn` does with dynamic shapes."""
        del kwargs
        assert not static and read_fn is None
        shares = "shared_sources" in self._on
        rows_of_memory = 1 if shares else num_candidates
        cache = tf.nest.map_structure(
            lambda x: tf.repeat(x, rows_of_memory, axis=0), cache
        )

        def predict(input_ids, wanted):
            rows = tf.range(tf.shape(wanted)[0])
            by_sentence = tf.reshape(rows, [-1, num_candidates])
            if "finished_leave" in self._on:
                has_wanted = tf.reduce_any(tf.gather(wanted, by_sentence), [1, 2])
                by_sentence = tf.boolean_mask(by_sentence, has_wanted)
            rows = tf.reshape(by_sentence, [-1])
            sentences = by_sentence[:, 0] // num_candidates
            values = self._predict(
                take(cache, sentences if shares else rows),
                num_candidates if shares else 1,
                tf.gather(input_ids, rows),
                tf.gather(wanted, rows),
            )
            return tuple(
                tf.tensor_scatter_nd_update(
                    tf.zeros_like(input_ids, new.dtype), rows[:, None], new
                )
                for new in values
            )

        return predict

    def _predict(self, cache, rows_of_memory, input_ids, wanted):
        """Returns ids and log-probabilities of the rows, right where wanted."""
        valid = input_ids != PAD_ID
        if "finished_leave" in self._on:
            valid &= tf.reduce_any(wanted, axis=1, keepdims=True)
        tokens = Compaction(valid, static="no_padding" not in self._on)
        last_layer = "wanted_last_layer" in self._on
        chosen = Compaction(wanted) if last_layer else tokens
        positions = tf.zeros_like(input_ids) + tf.range(tf.shape(input_ids)[1])
        model = self._model
        x = model.embedding(tokens.pack(input_ids), tokens.pack(positions))
        allowed = valid[:, None, None, :], cache.valid[:, None, None, :]
        x = run_decoder(
            model.decoder, cache.memory, x, (tokens, chosen), allowed, rows_of_memory
        )
        if "wanted_logits" in self._on and not last_layer:
            chosen = Compaction(wanted)
            x = chosen.select_from(tokens, x)
        logits = model.embedding.logits(x)
        return [chosen.unpack(y) for y in best_tokens(logits, model.banned_ids)]


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
            translator.model = SwitchedStudent(loaded.model, on)
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
