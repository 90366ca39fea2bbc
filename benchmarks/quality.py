r"""Measures a teacher and its student on several test sets.

Every finished line is kept in a folder beside the output file; the same command
goes on from there. A student's setting is written `HEURISTIC:SETTING`, or
`HEURISTIC:@SPEEDUP` for what cmlm-calibrate stored for that speed in the model
directory.

Example:
  python -m benchmarks.quality --teacher_dir=teacher/model --student_dir=student/model \
      --test=news=files:news.en,news.de --test=talks=files:talks.en,talks.de \
      --settings=mask_predict:10,comb_thresh:@4 --output=quality.json
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from absl import flags

from benchmarks.cached_points import PointCache
from benchmarks.flag_checks import check_items, check_writable, parse_unmasking
from benchmarks.timing import device_names
from cmlm_tf.commands import cli
from cmlm_tf.data.corpora import Corpus, open_corpus
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.sweep import Sweep
from cmlm_tf.evaluation.table import QualitySpeedRow, format_table
from cmlm_tf.modeling.model_dir import read_description
from cmlm_tf.translate.calibration import load_calibration
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from cmlm_tf.translate.translator import Translator
from cmlm_tf.utils.json_files import write_json
from cmlm_tf.utils.overwriting import refuse_overwriting

_TEACHER_DIR = flags.DEFINE_string("teacher_dir", None, "Model directory, or none.")
_STUDENT_DIR = flags.DEFINE_string("student_dir", None, "Model directory, or none.")
_TESTS = flags.DEFINE_multi_string(
    "test", None, "NAME=CORPUS, again for each test set.", required=True
)
_BEAM_SIZES = flags.DEFINE_list("beam_sizes", ["1", "5"], "The teacher's.")
_SETTINGS = flags.DEFINE_list(
    "settings",
    [
        "mask_predict:10",
        "mask_predict:4",
        "comb_thresh:@2",
        "comb_thresh:@4",
        "comb_thresh:@6",
    ],
    "The student's, as HEURISTIC:SETTING or HEURISTIC:@SPEEDUP.",
)
_LENGTH_BEAMS = flags.DEFINE_list("length_beams", ["1", "3", "5"], "The student's.")
_DROP = flags.DEFINE_bool("drop_losing_candidates", False, "As in cmlm-decode.")
_DTYPE = flags.DEFINE_enum("dtype", "float32", ["float32", "bfloat16"], "")
_XLA = flags.DEFINE_bool("xla", None, "As in cmlm-decode.")
_SENTENCES_PER_BATCH = flags.DEFINE_integer(
    "sentences_per_batch", 64, "Side by side.", lower_bound=1
)
_RESAMPLES = flags.DEFINE_integer(
    "num_resamples", 1000, "Of BLEU's interval.", lower_bound=0
)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file.", required=True)

Options = BeamOptions | UnmaskingOptions


def _check_setting(text: str) -> None:
    """Raises an error for what is neither a setting nor a speed to have."""
    heuristic, has_speed, speed = text.partition(":@")
    parse_unmasking(f"{heuristic}:1" if has_speed else text)
    if has_speed and not float(speed) > 0:
        raise ValueError(f"{text}: a speed is above 0")


def _parse_test(text: str) -> tuple[str, str]:
    """Reads `NAME=CORPUS`."""
    name, _, corpus = text.partition("=")
    if not name or ":" in name or not corpus:
        raise ValueError(f"must be NAME=CORPUS, not {text!r}")
    return name, corpus


check_items(_TESTS, _parse_test, least=1)
flags.register_validator(
    _TESTS,
    lambda tests: len(dict(map(_parse_test, tests))) == len(tests),
    "names of test sets must differ",
)
check_items(_BEAM_SIZES, lambda size: BeamOptions(int(size)))
check_items(_SETTINGS, _check_setting)
check_items(_LENGTH_BEAMS, lambda beam: UnmaskingOptions(length_beam=int(beam)))


def main(argv: Sequence[str]) -> None:
    """Measures what is not there yet, writes all and prints a table for each test."""
    del argv
    path = Path(_OUTPUT.value)
    points_dir = path.with_suffix(".points")
    tests = {
        name: open_corpus(corpus) for name, corpus in map(_parse_test, _TESTS.value)
    }
    inputs = {}
    for name, corpus in tests.items():
        inputs |= corpus.files(f"--test={name}")
    refuse_overwriting({"--output": path, "the measured lines": points_dir}, inputs)
    check_writable(_OUTPUT)
    systems = list(_systems())
    if not systems:
        raise UserError("--teacher_dir or --student_dir is needed")
    cache = PointCache(points_dir)
    rows = [
        {"test": name, **row}
        for model_dir, points in systems
        for name, corpus in tests.items()
        for row in _measure(cache, model_dir, corpus, points)
    ]
    write_json(path, {"rows": rows})
    for name in tests:
        table = [QualitySpeedRow(**r["row"]) for r in rows if r["test"] == name]
        print(f"\n{name}\n\n{format_table(table)}")


def _measure(
    cache: PointCache, model_dir: str, corpus: Corpus, points: Sequence[Options]
) -> Iterator[dict[str, Any]]:
    """Yields the rows of one system on one test set, and what they depend on."""
    sweep = functools.cache(lambda: _sweep(model_dir, corpus))
    common = {
        "devices": device_names(),
        "dtype": _DTYPE.value,
        "resamples": _RESAMPLES.value,
        "corpus_sha256": corpus.fingerprint(),
        "weights_sha256": read_description(model_dir)["weights_sha256"],
    }
    for point in points:
        key = {**common, "options": dataclasses.asdict(point)}
        row = cache.get(key, lambda point=point: _row(point, sweep().measure(point)))
        yield {**key, "row": row}


def _sweep(model_dir: str, corpus: Corpus) -> Sweep:
    return Sweep(
        _translator(model_dir),
        *map(list, zip(*corpus, strict=True)),
        num_resamples=_RESAMPLES.value,
    )


@functools.cache
def _translator(model_dir: str) -> Translator:
    return load_translator(
        model_dir,
        _DTYPE.value,
        sentences_per_batch=_SENTENCES_PER_BATCH.value,
        xla=_XLA.value,
    )


def _systems() -> Iterator[tuple[str, list[Options]]]:
    if _TEACHER_DIR.value:
        read_description(_TEACHER_DIR.value, "teacher")
        sizes = map(int, _BEAM_SIZES.value)
        yield _TEACHER_DIR.value, [BeamOptions(beam_size=size) for size in sizes]
    if _STUDENT_DIR.value:
        read_description(_STUDENT_DIR.value, "student")
        pairs = itertools.product(_SETTINGS.value, map(int, _LENGTH_BEAMS.value))
        yield _STUDENT_DIR.value, [_unmasking(text, beam) for text, beam in pairs]


def _unmasking(text: str, length_beam: int) -> UnmaskingOptions:
    """Reads one setting of the student.

    Settings of a speed are those calibrated for a length beam of 5.
    """
    heuristic, _, setting = text.partition(":")
    if setting.startswith("@"):
        calibration = load_calibration(_STUDENT_DIR.value)
        if calibration is None:
            raise UserError(f"{_STUDENT_DIR.value}: not calibrated")
        value = calibration.promise(float(setting[1:]), heuristic).setting
    else:
        value = float(setting)
    return UnmaskingOptions(
        heuristic, value, length_beam=length_beam, drop_losing_candidates=_DROP.value
    )


def _row(point: Options, row: QualitySpeedRow) -> dict[str, Any]:
    if isinstance(point, UnmaskingOptions):
        setting = f"{row.setting}, b={point.length_beam}"
        row = dataclasses.replace(row, setting=setting)
    return dataclasses.asdict(row)


if __name__ == "__main__":
    cli.run(main)
