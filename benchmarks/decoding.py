r"""Measures decoding: the student against its teacher and CTranslate2.

All systems run in one process in turn on the same batches of real sentences,
from subword ids to subword ids; ratios are taken pair by pair: printed and stored is
their median, then the 10th and the 90th percentile. `--plot` draws latency against
batch size, and BLEU against sentences per second where it is known.

Examples:
  python -m benchmarks.decoding --student_dir=student/model \
      --teacher_dir=teacher/model --corpus=files:test.en,test.de \
      --settings=comb_thresh:0.1,fixed_k:4 --bleu_lines=1000 \
      --output=decoding.json --plot=decoding.png
  python -m benchmarks.decoding --random_config=configs/wmt14_en_de.py \
      --subword_model=subword.model --corpus=files:test.en,test.de \
      --teacher_layers=12-1 --output=decoding.json
"""

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from absl import flags, logging
from ml_collections import config_flags

from benchmarks import flag_checks
from benchmarks.decoding_plot import plot_decoding
from benchmarks.decoding_text import bleu_of, check_room, draw_batches, pairs_within
from benchmarks.systems import (
    System,
    baselines_of,
    check_compute_types,
    ctranslate2_system,
    random_model,
    student_system,
    teacher_system,
)
from benchmarks.timing import describe_machine, line_of, measure_in_turn
from cmlm_tf.commands import cli
from cmlm_tf.commands.decoding_flags import refuse_flags
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.plots import STAMPS
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.layers import dtype_policy
from cmlm_tf.modeling.model_dir import LoadedModel, load_model
from cmlm_tf.pretrained import EN_DE_TEST
from cmlm_tf.translate.loading import make_translator
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from cmlm_tf.utils.json_files import write_json
from cmlm_tf.utils.overwriting import refuse_overwriting

_STUDENT_DIR = flags.DEFINE_string("student_dir", None, "Needed, or --random_config.")
_TEACHER_DIR = flags.DEFINE_string("teacher_dir", None, "Needed, or --random_config.")
_RANDOM_CONFIG = config_flags.DEFINE_config_file(
    "random_config", None, "Sizes of models with random weights, instead."
)
_SUBWORD_MODEL = flags.DEFINE_string(
    "subword_model", None, "Of the models with random weights."
)
_TEACHER_LAYERS = flags.DEFINE_list(
    "teacher_layers",
    [],
    "Further teachers of random weights, as ENCODER-DECODER layers: 12-1.",
)
_CORPUS = flags.DEFINE_string(
    "corpus", f"tsv:{EN_DE_TEST}?source=1&target=2", "Test sentences."
)
_SETTINGS = flags.DEFINE_list(
    "settings", ["fixed_k:4"], "The student's, as HEURISTIC:SETTING."
)
_LENGTH_BEAMS = flags.DEFINE_list("length_beams", ["1", "5"], "The student's.")
_DROP = flags.DEFINE_bool("drop_losing_candidates", True, "As in cmlm-decode.")
_BEAM_SIZES = flags.DEFINE_list("beam_sizes", ["1", "5"], "The teacher's.")
_CTRANSLATE2 = flags.DEFINE_list(
    "ctranslate2", [], "Compute types, such as float32,int8; needs [benchmark]."
)
_LENGTHS = flags.DEFINE_list(
    "lengths", ["1", "100"], "Keep sentences of this many subwords on both sides."
)
_BATCH_SIZES = flags.DEFINE_list("batch_sizes", ["1", "8", "64"], "Sentences.")
_NUM_BATCHES = flags.DEFINE_integer(
    "num_batches", 10, "Different batches of a size.", 1
)
_ROUNDS = flags.DEFINE_integer("rounds", 20, "Timed runs of each system.", 1)
_BLEU_LINES = flags.DEFINE_integer(
    "bleu_lines", 0, "The first lines of the corpus, for BLEU of trained models.", 0
)
_DTYPE = flags.DEFINE_enum("dtype", "float32", ["float32", "bfloat16"], "Of our own.")
_XLA = flags.DEFINE_list(
    "xla", ["false"], "false, true or false,true, for our own systems."
)
_THREADS = flags.DEFINE_integer("threads", 2, "Of CTranslate2 on a CPU.", 1)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file.", required=True)
_PLOT = flags.DEFINE_string("plot", None, "Drawing: .png, .svg or .pdf.")

_parse_xla = flags.EnumParser(["false", "true"], case_sensitive=False).parse
flag_checks.check_items(_TEACHER_LAYERS, flag_checks.parse_layers)
flag_checks.check_items(_SETTINGS, flag_checks.parse_unmasking)
flag_checks.check_items(_LENGTH_BEAMS, lambda n: UnmaskingOptions(length_beam=int(n)))
flag_checks.check_items(_BEAM_SIZES, lambda n: BeamOptions(int(n)))
flag_checks.check_items(_BATCH_SIZES, flags.IntegerParser(1).parse, least=1)
flag_checks.check_items(_XLA, _parse_xla, least=1)
flag_checks.check_span(_LENGTHS)
flags.register_validator(
    *(_PLOT, lambda path: path is None or Path(path).suffix in STAMPS),
    f"must end in one of {', '.join(STAMPS)}",
)

#: A student, and the teachers by what their names add.
Models = tuple[LoadedModel, dict[str, LoadedModel]]


def main(argv: Sequence[str]) -> None:
    """Measures every batch size and writes all figures."""
    del argv
    _check_flags()
    source = open_corpus(_CORPUS.value)
    outputs = {"--output": _OUTPUT.value, "--plot": _PLOT.value}
    refuse_overwriting(outputs, source.files("--corpus"))
    corpus = list(source)
    if len(corpus) < _BLEU_LINES.value:
        raise UserError(
            f"--bleu_lines={_BLEU_LINES.value}: {_CORPUS.value} has {len(corpus)} lines"
        )
    models = _load_models()
    with tempfile.TemporaryDirectory() as scratch:
        rows = _measure(models, corpus, Path(scratch))
    if _PLOT.value:
        plot_decoding(rows, _PLOT.value)


def _check_flags() -> None:
    """Checks what can be known before a model is loaded."""
    if _RANDOM_CONFIG.value is None:
        for flag in (_STUDENT_DIR, _TEACHER_DIR):
            if flag.value is None:
                raise UserError(f"--{flag.name} is needed, or --random_config")
        refuse_flags(["subword_model"], "needs --random_config")
        if _TEACHER_LAYERS.value:
            raise UserError("--teacher_layers needs --random_config")
    else:
        names = ["student_dir", "teacher_dir", "bleu_lines"]
        refuse_flags(names, "has no use with --random_config")
        if "model" not in _RANDOM_CONFIG.value:
            raise UserError("--random_config has no section model")
        if _SUBWORD_MODEL.value is None:
            raise UserError("--random_config needs --subword_model")
    if not (_BEAM_SIZES.value or (_SETTINGS.value and _LENGTH_BEAMS.value)):
        raise UserError("--beam_sizes and --settings are empty: nothing to measure")
    if _CTRANSLATE2.value:
        check_compute_types(_CTRANSLATE2.value, _device())
    for flag in (_OUTPUT, _PLOT):
        flag_checks.check_writable(flag)


def _measure(
    models: Models, corpus: Sequence[tuple[str, str]], scratch: Path
) -> list[dict]:
    """Returns the rows of all batch sizes, which are written after each."""
    subwords = SubwordModel(models[0].subword_path)
    sources, references = map(subwords.encode, zip(*corpus, strict=True))
    first, room = sources[: _BLEU_LINES.value], _room(models)
    check_room("--bleu_lines", first, room)
    pairs = list(zip(sources, references, strict=True))
    kept = pairs_within(pairs, *map(int, _LENGTHS.value), room)
    rows, bleu = [], {}
    for size in sorted(map(int, _BATCH_SIZES.value), reverse=True):
        systems = _systems(models, size, scratch)
        if _BLEU_LINES.value and not bleu:
            texts = [text for _, text in corpus[: len(first)]]
            bleu = {
                name: bleu_of(run, first, texts, subwords, size)
                for name, run in systems.items()
            }
        batches = draw_batches(kept, size, _NUM_BATCHES.value, _has_random_weights())
        measured = measure_in_turn(systems, batches, _ROUNDS.value)
        for name, measurement in measured.items():
            row = {"system": name, "batch_size": size, "bleu": bleu.get(name)}
            rows.append(row | measurement.row(baselines_of(name, measured)))
            print(line_of(rows[-1]), flush=True)
        _write(rows)
    return rows


def _room(models: Models) -> int:
    """Returns the most subwords of a sentence that all models take."""
    student, teachers = models
    every = [student.model, *(teacher.model for teacher in teachers.values())]
    return min(model.config.max_length for model in every) - 1


def _has_random_weights() -> bool:
    return _RANDOM_CONFIG.value is not None


def _load_models() -> Models:
    student, teachers = _load("student"), {"": _load("teacher")}
    if teachers[""].subword_sha256 != student.subword_sha256:
        raise UserError("--student_dir and --teacher_dir have other subword models")
    longest = student.model.config.max_length
    if max(map(int, _LENGTH_BEAMS.value), default=1) > longest:
        raise UserError(f"--length_beams: the student has {longest} length classes")
    for layers in _TEACHER_LAYERS.value:
        sizes = flag_checks.parse_layers(layers)
        sizes = {**_RANDOM_CONFIG.value.model, **sizes}
        teachers[f" {layers}"] = _random("teacher", sizes)
    return student, teachers


def _load(role: str) -> LoadedModel:
    if _has_random_weights():
        return _random(role, _RANDOM_CONFIG.value.model)
    folder = _STUDENT_DIR.value if role == "student" else _TEACHER_DIR.value
    return load_model(folder, _DTYPE.value, role)


def _random(role: str, sizes: Mapping[str, Any]) -> LoadedModel:
    subwords = Path(_SUBWORD_MODEL.value)
    config = TransformerConfig(vocab_size=SubwordModel(subwords).vocab_size, **sizes)
    with dtype_policy(_DTYPE.value):
        return random_model(role, config, subwords)


def _systems(models: Models, batch_size: int, scratch: Path) -> dict[str, System]:
    systems = {}
    student, teachers = models
    beam_sizes = [int(size) for size in _BEAM_SIZES.value]
    for xla in map(_parse_xla, _XLA.value):
        suffix = " xla" if xla == "true" else ""
        kwargs = {"sentences_per_batch": batch_size, "xla": xla == "true"}
        for which, teacher in teachers.items():
            translator = make_translator(teacher, **kwargs)
            for beam_size in beam_sizes:
                name = f"teacher{which} beam {beam_size}{suffix}"
                systems[name] = teacher_system(translator, beam_size)
        translator = make_translator(student, **kwargs)
        for options in _student_options():
            name = f"{options.heuristic} {options.setting:g} b={_beam(options)}{suffix}"
            systems[name] = student_system(translator, options)
    for compute_type in _CTRANSLATE2.value:
        for which, teacher in teachers.items():
            for beam_size in beam_sizes:
                name = f"ct2 {compute_type}{which} beam {beam_size}"
                systems[name] = ctranslate2_system(
                    teacher.model,
                    scratch / f"teacher{which}",
                    compute_type,
                    beam_size,
                    _device(),
                    _THREADS.value,
                )
    return systems


def _device() -> str:
    """Returns CTranslate2's name of where it runs."""
    return "cuda" if tf.config.list_physical_devices("GPU") else "cpu"


def _student_options() -> list[UnmaskingOptions]:
    return [
        dataclasses.replace(
            flag_checks.parse_unmasking(setting),
            length_beam=beam,
            oracle_spread=beam // 2 if _has_random_weights() else 0,
            drop_losing_candidates=_DROP.value,
        )
        for setting in _SETTINGS.value
        for beam in map(int, _LENGTH_BEAMS.value)
    ]


def _beam(options: UnmaskingOptions) -> int:
    spread = options.oracle_spread
    return 2 * spread + 1 if _has_random_weights() else options.length_beam


def _write(rows: list[dict]) -> None:
    given = {
        flag.name: flag.value
        for flag in flags.FLAGS.get_key_flags_for_module(
            flags.FLAGS.find_module_defining_flag(_OUTPUT.name)
        )
    }
    content = {**describe_machine(), "flags": given, "rows": rows}
    write_json(_OUTPUT.value, content, default=str)  # A config is no JSON.
    logging.info("%s written", _OUTPUT.value)


if __name__ == "__main__":
    cli.run(main)
