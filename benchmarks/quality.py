r"""Measures a teacher and its student on several test sets.

Every finished line is kept in the output file; the same command goes on from
there. A student's setting is written `HEURISTIC:SETTING`, or `HEURISTIC:@SPEEDUP`
for what bin/calibrate.py stored for that speed in the model directory.

Example:
  python benchmarks/quality.py --teacher_dir=teacher/model --student_dir=student/model \
      --test=news=files:news.en,news.de --test=talks=files:talks.en,talks.de \
      --settings=mask_predict:10,comb_thresh:@4 --output=quality.json
"""

import dataclasses
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from absl import flags, logging

from benchmarks.timing import device_names
from cmlm_tf import cli
from cmlm_tf.calibration import load_calibration
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.sweep import sweep
from cmlm_tf.evaluation.table import QualitySpeedRow, format_table
from cmlm_tf.files import atomic_write, read_json
from cmlm_tf.modeling.model_dir import read_description
from cmlm_tf.options import BeamOptions, UnmaskingOptions
from cmlm_tf.translator import load_translator

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
_DROP = flags.DEFINE_bool("drop_losing_candidates", False, "As in bin/decode.py.")
_DTYPE = flags.DEFINE_enum("dtype", "float32", ["float32", "bfloat16"], "")
_XLA = flags.DEFINE_bool("xla", None, "As in bin/decode.py.")
_SENTENCES_PER_BATCH = flags.DEFINE_integer("sentences_per_batch", 64, "Side by side.")
_RESAMPLES = flags.DEFINE_integer("num_resamples", 1000, "Of BLEU's interval.")
_OUTPUT = flags.DEFINE_string("output", None, "JSON file.", required=True)

Options = BeamOptions | UnmaskingOptions


def main(argv: Sequence[str]) -> None:
    """Measures what the output file lacks and prints a table for each test set."""
    del argv
    path = Path(_OUTPUT.value)
    tests = dict(test.partition("=")[::2] for test in _TESTS.value)
    header = _header(tests)
    kept = _read(path, header)
    for model_dir, points in _systems():
        translator = load_translator(
            model_dir,
            _DTYPE.value,
            sentences_per_batch=_SENTENCES_PER_BATCH.value,
            xla=_XLA.value,
        )
        for name, corpus in tests.items():
            sources, references = zip(*open_corpus(corpus), strict=True)
            missing = [p for p in points if not _find(kept, name, p)]
            rows = sweep(translator, sources, references, missing, _RESAMPLES.value)
            for point, row in zip(missing, rows, strict=True):
                logging.info("%s, %s: BLEU %.2f", name, point, row.bleu)
                kept.append(_record(name, point, row))
                _write(path, header, kept)
    for name in tests:
        rows = [QualitySpeedRow(**r["row"]) for r in kept if r["test"] == name]
        print(f"\n{name}\n\n{format_table(rows)}")


def _systems() -> Iterator[tuple[str, list[Options]]]:
    if _TEACHER_DIR.value:
        sizes = map(int, _BEAM_SIZES.value)
        yield _TEACHER_DIR.value, [BeamOptions(beam_size=size) for size in sizes]
    if _STUDENT_DIR.value:
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


def _record(name: str, point: Options, row: QualitySpeedRow) -> dict[str, Any]:
    row = dataclasses.replace(row, setting=_setting(point, row))
    return {
        "test": name,
        "options": dataclasses.asdict(point),
        "row": dataclasses.asdict(row),
    }


def _setting(point: Options, row: QualitySpeedRow) -> str:
    if isinstance(point, BeamOptions):
        return row.setting
    return f"{row.setting}, b={point.length_beam}"


def _find(kept: Sequence[dict[str, Any]], name: str, point: Options) -> bool:
    key = name, dataclasses.asdict(point)
    return any((record["test"], record["options"]) == key for record in kept)


def _header(tests: Mapping[str, str]) -> dict[str, Any]:
    """Returns what all rows of a file have alike."""
    models = {"teacher": _TEACHER_DIR.value, "student": _STUDENT_DIR.value}
    return {
        "devices": device_names(),
        "dtype": _DTYPE.value,
        "tests": {
            name: open_corpus(spec).fingerprint() for name, spec in tests.items()
        },
        "weights": {
            role: read_description(model_dir)["weights_sha256"]
            for role, model_dir in models.items()
            if model_dir
        },
    }


def _read(path: Path, header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the rows of a file that was begun on the same models and texts."""
    if not path.exists():
        return []
    content = read_json(path)
    for name, value in header.items():
        if content.get(name) != value:
            raise UserError(f"{path}: was begun with other {name}; name another file")
    return content["rows"]


def _write(path: Path, header: Mapping[str, Any], rows: Sequence[Any]) -> None:
    content = {**header, "rows": rows}
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    cli.run(main)
