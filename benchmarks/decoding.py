r"""Measures decoding: the student against its teacher and CTranslate2.

All systems run in one process in turn on the same batches of real sentences,
from subword ids to subword ids; ratios are taken pair by pair. `--plot` draws
latency against batch size, and BLEU against sentences per second where it is known.

Examples:
  python benchmarks/decoding.py --student_dir=student --teacher_dir=teacher \
      --corpus=files:test.en,test.de --settings=comb_thresh:0.1,fixed_k:4 \
      --bleu_lines=1000 --output=decoding.json --plot=decoding.png
  python benchmarks/decoding.py --random_config=configs/wmt14_en_de.py \
      --subword_model=subword.model --corpus=files:test.en,test.de \
      --teacher_layers=12-1 --output=decoding.json
"""

import itertools
import json
import random
import resource
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from absl import flags, logging
from ml_collections import config_flags

from benchmarks.decoding_plot import plot_decoding
from benchmarks.systems import (
    Batch,
    System,
    ctranslate2_system,
    random_model,
    student_system,
    teacher_system,
)
from benchmarks.timing import device_names, measure_in_turn
from cmlm_tf import cli
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.bleu import sacre_bleu
from cmlm_tf.files import atomic_write
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.model_dir import LoadedModel, dtype_policy, load_model
from cmlm_tf.options import UnmaskingOptions
from cmlm_tf.translator import make_translator

_STUDENT_DIR = flags.DEFINE_string("student_dir", None, "Model directory.")
_TEACHER_DIR = flags.DEFINE_string("teacher_dir", None, "Model directory.")
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
_CORPUS = flags.DEFINE_string("corpus", "grammar:test?size=500", "Test sentences.")
_SETTINGS = flags.DEFINE_list(
    "settings", ["fixed_k:4"], "The student's, as HEURISTIC:SETTING."
)
_LENGTH_BEAMS = flags.DEFINE_list("length_beams", ["1", "5"], "The student's.")
_DROP = flags.DEFINE_bool("drop_losing_candidates", True, "As in bin/decode.py.")
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
_XLA = flags.DEFINE_list("xla", ["false"], "false, true or both, for our own systems.")
_THREADS = flags.DEFINE_integer("threads", 2, "Of CTranslate2 on a CPU.")
_OUTPUT = flags.DEFINE_string("output", None, "JSON file.", required=True)
_PLOT = flags.DEFINE_string("plot", None, "Drawing: .png, .svg or .pdf.")

#: Systems that the others are compared with.
_BASELINES = ("teacher beam 5", "ct2 float32 beam 5", "ct2 float16 beam 5")


def main(argv: Sequence[str]) -> None:
    """Measures every batch size and writes all figures."""
    del argv
    student, teachers = _load("student"), _load_teachers()
    subwords = SubwordModel(student.subword_path)
    rows, bleu = [], {}
    for size in sorted(map(int, _BATCH_SIZES.value), reverse=True):
        systems = _systems(student, teachers, size)
        if _BLEU_LINES.value and not bleu:
            bleu = {name: _bleu(run, subwords, size) for name, run in systems.items()}
        measured = measure_in_turn(systems, _batches(subwords, size), _ROUNDS.value)
        baselines = {
            name.removesuffix(" xla"): m
            for name, m in measured.items()
            if name.removesuffix(" xla") in _BASELINES
        }
        for name, measurement in measured.items():
            row = {"system": name, "batch_size": size, "bleu": bleu.get(name)}
            rows.append(row | measurement.row(baselines))
            print(_line(rows[-1]), flush=True)
        _write(rows)
    if _PLOT.value:
        plot_decoding(rows, _PLOT.value)


def _load(role: str) -> LoadedModel:
    if _RANDOM_CONFIG.value is None:
        folder = _STUDENT_DIR.value if role == "student" else _TEACHER_DIR.value
        if folder is None:
            raise UserError(f"--{role}_dir is needed, or --random_config")
        loaded = load_model(folder, _DTYPE.value)
        if loaded.role != role:
            raise UserError(f"{folder}: is a {loaded.role}, not a {role}")
        return loaded
    return _random(role, _RANDOM_CONFIG.value.model)


def _load_teachers() -> dict[str, LoadedModel]:
    """Returns the teacher and further ones by what their names add."""
    teachers = {"": _load("teacher")}
    for layers in _TEACHER_LAYERS.value:
        encoder, decoder = map(int, layers.split("-"))
        sizes = {"num_encoder_layers": encoder, "num_decoder_layers": decoder}
        teachers[f" {layers}"] = _random(
            "teacher", {**_RANDOM_CONFIG.value.model, **sizes}
        )
    return teachers


def _random(role: str, sizes: Mapping[str, Any]) -> LoadedModel:
    subwords = Path(_SUBWORD_MODEL.value)
    config = TransformerConfig(vocab_size=SubwordModel(subwords).vocab_size, **sizes)
    with dtype_policy(_DTYPE.value):
        return random_model(role, config, subwords)


def _systems(
    student: LoadedModel, teachers: Mapping[str, LoadedModel], batch_size: int
) -> dict[str, System]:
    systems = {}
    beam_sizes = [int(size) for size in _BEAM_SIZES.value]
    for xla in (value == "true" for value in _XLA.value):
        suffix = " xla" if xla else ""
        kwargs = {"sentences_per_batch": batch_size, "xla": xla}
        for which, teacher in teachers.items():
            translator = make_translator(teacher, **kwargs)
            for beam_size in beam_sizes:
                name = f"teacher{which} beam {beam_size}{suffix}"
                systems[name] = teacher_system(translator, beam_size)
        translator = make_translator(student, **kwargs)
        for options in _student_options():
            name = f"{options.heuristic} {options.setting:g} b={_beam(options)}{suffix}"
            systems[name] = student_system(translator, options)
    gpu = bool(tf.config.list_physical_devices("GPU"))
    for compute_type in _CTRANSLATE2.value:
        for which, teacher in teachers.items():
            folder = f"{Path(_OUTPUT.value).stem}{which.strip()}.ct2"
            for beam_size in beam_sizes:
                name = f"ct2 {compute_type}{which} beam {beam_size}"
                systems[name] = ctranslate2_system(
                    teacher.model,
                    Path(_OUTPUT.value).with_name(folder),
                    compute_type,
                    beam_size,
                    "cuda" if gpu else "cpu",
                    _THREADS.value,
                )
    return systems


def _bleu(run: System, subwords: SubwordModel, size: int) -> float:
    """Returns BLEU on the first lines, in batches of so many."""
    pairs = list(itertools.islice(open_corpus(_CORPUS.value), _BLEU_LINES.value))
    lines, references = zip(*pairs, strict=True)
    sources = subwords.encode(lines)
    # Sentences of like length side by side.
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    hypotheses = [""] * len(order)
    for start in range(0, len(order), size):
        places = order[start : start + size]
        ids = run(Batch([sources[i] for i in places], None))
        texts = subwords.decode([list(map(int, row)) for row in ids])
        for place, text in zip(places, texts, strict=True):
            hypotheses[place] = text
    return sacre_bleu(hypotheses, references).value


def _student_options() -> list[UnmaskingOptions]:
    oracle = _RANDOM_CONFIG.value is not None
    options = []
    for setting in _SETTINGS.value:
        heuristic, _, value = setting.partition(":")
        for beam in map(int, _LENGTH_BEAMS.value):
            options.append(
                UnmaskingOptions(
                    heuristic,
                    float(value),
                    length_beam=beam,
                    oracle_spread=beam // 2 if oracle else 0,
                    drop_losing_candidates=_DROP.value,
                )
            )
    return options


def _beam(options: UnmaskingOptions) -> int:
    oracle = _RANDOM_CONFIG.value is not None
    return 2 * options.oracle_spread + 1 if oracle else options.length_beam


def _batches(subwords: SubwordModel, size: int) -> list[Batch]:
    """Draws batches of sentences in random order, as requests would come."""
    low, high = map(int, _LENGTHS.value)
    sides = (
        subwords.encode(side) for side in zip(*open_corpus(_CORPUS.value), strict=True)
    )
    pairs = [
        pair
        for pair in zip(*sides, strict=True)
        if all(low <= len(ids) <= high for ids in pair)
    ]
    if not pairs:
        raise UserError(f"{_CORPUS.value}: no sentence within --lengths={low},{high}")
    random.Random(1).shuffle(pairs)
    while len(pairs) < size * _NUM_BATCHES.value:
        pairs = pairs + pairs
    sources, references = zip(*pairs, strict=True)
    lengths = [len(ids) for ids in references]
    oracle = _RANDOM_CONFIG.value is not None
    return [
        Batch(
            sources[start : start + size],
            lengths[start : start + size] if oracle else None,
        )
        for start in range(0, size * _NUM_BATCHES.value, size)
    ]


def _line(row: dict) -> str:
    ratios = ", ".join(
        f"{value[0]:.2f} ({value[1]:.2f} to {value[2]:.2f}) {name}"
        for name, value in row.items()
        if name.startswith("times ")
    )
    return (
        f"{row['batch_size']:4d}  {row['system']:28s} {row['p50_ms']:9.2f} ms  "
        f"p95 {row['p95_ms']:9.2f}  {row['sentences_per_second']:8.1f} sent/s  "
        f"first {row['first_run_s']:6.1f} s  {ratios}"
    )


def _write(rows: list[dict]) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    machine = {
        "devices": device_names(),
        "tensorflow": tf.__version__,
        "flags": {
            flag.name: flag.value
            for flag in flags.FLAGS.get_key_flags_for_module(
                flags.FLAGS.find_module_defining_flag(_OUTPUT.name)
            )
        },
        "peak_host_bytes": peak,
        "peak_gpu_bytes": [
            tf.config.experimental.get_memory_info(f"GPU:{i}")["peak"]
            for i in range(len(tf.config.list_physical_devices("GPU")))
        ],
    }
    with atomic_write(_OUTPUT.value) as temporary:
        text = json.dumps({**machine, "rows": rows}, indent=1, default=str)
        temporary.write_text(text + "\n", encoding="utf-8")
    logging.info("%s written", _OUTPUT.value)


if __name__ == "__main__":
    cli.run(main)
