"""cmlm-calibrate and cmlm-decode --target_speedup, as a user runs them."""

import contextlib
import errno
import json
import re
import shutil
import tempfile
from unittest import mock

import pytest
from absl import flags
from absl.testing import flagsaver

from cmlm_tf.commands.decoding_flags import decoding_options, define_decoding_flags
from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.calibrate import calibrate
from cmlm_tf.translate.calibration import load_calibration
from cmlm_tf.translate.options import UnmaskingOptions
from tests import tiny_models
from tests.commands import run_command
from tests.tiny_models import WORDS, model_dir

_TARGETS = [2.0, 3.0]
_TEXTS = ("dev.en", "test.en")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrate")
    for name, first in zip(_TEXTS, (0, 5), strict=True):
        lines = (" ".join(WORDS[i : i + 6]) for i in range(first, first + 20))
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def calibrated(folder):
    """A calibrated model and the report of the calibration."""
    shutil.copytree(model_dir("student"), folder / "model")
    report = calibrate(
        tiny_models.translator("student"),
        folder / "model",
        folder / "dev.en",
        UnmaskingOptions(length_beam=2),
        _TARGETS,
        folder / "test.en",
    )
    return folder / "model", report


def _run(command, folder, **flags):
    arguments = [f"--{name}={value}" for name, value in flags.items()]
    return run_command(f"bin/{command}", *arguments, cwd=folder)


def _speed(records):
    """Subwords by passes of the slowest candidates, over the whole text."""
    passes = sum(record["iterations"] for record in records)
    return sum(record["num_tokens"] for record in records) / passes


def test_the_table_holds_what_decoding_gives(calibrated, folder):
    model, report = calibrated
    (table,) = load_calibration(model).tables
    grid = HEURISTICS["comb_thresh"].grid
    assert table.num_lines == 20
    assert report.num_decodings == len(grid)
    assert {point.setting for point in table.points} <= set(grid)
    lines = (folder / "dev.en").read_text("utf-8").splitlines()
    translator = tiny_models.translator("student")
    for point in table.points[::4]:
        options = UnmaskingOptions(setting=point.setting, length_beam=2)
        translations = translator.translate(lines, options)
        assert _speed([vars(t) for t in translations]) == point.speedup
    assert sorted(path.name for path in model.glob("*calibration*")) == [
        "calibration.json"
    ]


def test_an_interrupted_calibration_is_continued(folder, tmp_path):
    """Its check, too; what a kill leaves of a file that was written goes."""
    model = shutil.copytree(model_dir("student"), tmp_path / "model")
    translator = tiny_models.translator("student")
    options, test = UnmaskingOptions(length_beam=2), folder / "test.en"
    decoded, reports = [], []
    for most in (5, 7, 99):
        left = iter(range(most))

        def translate(lines, options, warn, left=left):
            if next(left, None) is None:
                raise KeyboardInterrupt
            decoded.append((lines[0], options.setting))
            return translator.translate(lines, options, warn=warn)

        limited = mock.Mock(translate=translate)
        with contextlib.suppress(KeyboardInterrupt):
            reports.append(
                calibrate(limited, model, folder / "dev.en", options, _TARGETS, test)
            )
        for path in model.glob("calibration.unfinished.*"):
            (model / f".calibration.abcdefgh{path.name[11:]}").touch()
    (report,) = reports
    assert len(decoded) == len(set(decoded))
    assert not list(model.glob("*unfinished*")) + list(model.glob(".*"))
    first = {name: (folder / name).read_text().split("\n")[0] for name in _TEXTS}
    tried = {n: [s for line, s in decoded if line == first[n]] for n in first}
    assert tried["dev.en"] == list(HEURISTICS["comb_thresh"].grid)
    assert sorted(tried["test.en"]) == sorted(report.found)


def test_decoding_by_target_is_decoding_by_its_setting(calibrated, folder):
    model, report = calibrated
    target, promise = report.promises()[-1]
    result = _run(
        "decode.py",
        folder,
        model_dir=model,
        input="test.en",
        length_beam=2,
        target_speedup=target,
        output="fast.de",
        jsonl="fast.jsonl",
    )
    assert result.returncode == 0, result.stderr
    lines = (folder / "fast.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert _speed(records) == pytest.approx(report.found[promise.setting])
    assert f"comb_thresh {promise.setting:g}: " in result.stderr


def test_the_command_prints_promised_and_measured_speed(calibrated, folder):
    """What cannot be reached is named, the rest stored."""
    result = _run(
        "calibrate.py",
        folder,
        model_dir=calibrated[0],
        dev="dev.en",
        test="test.en",
        heuristic="fixed_k",
        length_beam=1,
        target_speedup="2,3,30",
    )
    assert result.returncode == 1
    line = "error: target_speedup 30: on this text fixed_k gives speeds from .* stored"
    assert re.fullmatch(line, result.stderr.splitlines()[-1])
    head, rule, *rows, error, count = result.stdout.splitlines()
    assert head == "| target | fixed_k | promised | measured |"
    values = [[float(cell) for cell in row.strip("| ").split("|")] for row in rows]
    assert [row[0] for row in values] == _TARGETS
    errors = [abs(row[3] - row[2]) for row in values]
    mean, largest = map(float, re.findall(r"\d+\.\d+", error))
    assert mean == pytest.approx(sum(errors) / 2, abs=0.011)
    assert largest == pytest.approx(max(errors), abs=0.011)
    assert re.fullmatch(r"decodings of the development set: \d+", count)
    calibration = load_calibration(calibrated[0])
    heuristics = {table.heuristic for table in calibration.tables}
    assert heuristics == {"comb_thresh", "fixed_k"}
    promise = calibration.promise(2.0, "fixed_k", 1)
    assert promise.speedup == pytest.approx(2.0, abs=0.5)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"target_speedup": 99}, "target_speedup must be from .* for comb_thresh"),
        ({"target_speedup": 2, "tau": 0.1}, "--tau is what --target_speedup finds"),
        ({"target_speedup": 2, "max_iterations": 3}, "--max_iterations is not calib"),
        ({"target_speedup": 2, "length_beam": 3}, "not calibrated for .*length_beam=3"),
    ],
)
def test_decoding_refuses_what_was_not_calibrated(calibrated, given, line):
    with pytest.raises(UserError, match=line):
        _options(calibrated[0], **{"length_beam": 2} | given)


def test_decoding_with_a_model_that_was_not_calibrated():
    for role, line in (("student", "not calibrated; run"), ("teacher", "needs a stud")):
        with pytest.raises(UserError, match=line):
            _options(model_dir(role), target_speedup=2)


def _options(model, **values):
    if "heuristic" not in flags.FLAGS:
        define_decoding_flags()
    with flagsaver.as_parsed(**{name: str(value) for name, value in values.items()}):
        return decoding_options(model)


def test_a_teacher_is_refused_at_once(folder):
    teacher = model_dir("teacher")
    result = _run("calibrate.py", folder, model_dir=teacher, dev="dev.en")
    assert result.returncode == 1
    line = f"error: {teacher}: not a student but a teacher"
    assert result.stderr.splitlines()[-1] == line


def _refused(folder, model, line, **arguments):
    """Checks that an error comes before anything is decoded."""
    translator = mock.Mock()
    options = UnmaskingOptions(length_beam=2)
    with pytest.raises(UserError, match=line):
        calibrate(translator, model, folder, options, _TARGETS, **arguments)
    translator.translate.assert_not_called()


def test_a_table_from_more_lines_is_refused_before_anything_is_decoded(
    calibrated, folder, tmp_path
):
    few = tmp_path / "few.en"
    few.write_text("\n".join(WORDS[:19]), "utf-8")
    line = "is from 20 lines, a new one would be from 19; --replace"
    _refused(few, calibrated[0], line)


def test_replace_stores_a_table_from_fewer_lines(calibrated, folder, tmp_path):
    model = shutil.copytree(calibrated[0], tmp_path / "model")
    lines = (folder / "dev.en").read_text("utf-8").splitlines()[:19]
    (tmp_path / "few.en").write_text("\n".join(lines), "utf-8")
    how = tmp_path / "few.en", UnmaskingOptions(length_beam=2), []
    report = calibrate(tiny_models.translator("student"), model, *how, replace=True)
    assert report.table.num_lines == 19
    assert report.table in load_calibration(model).tables


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_decoded(folder):
    model = model_dir("student")
    read_only = OSError(errno.EROFS, "Read-only file system")
    with mock.patch.object(tempfile, "mkstemp", side_effect=read_only):
        line = f"{model}/calibration.json: Read-only file system"
        _refused(folder / "dev.en", model, line)


@pytest.mark.parametrize("blank", ["dev", "test"])
def test_blank_lines_are_refused_before_anything_is_decoded(folder, tmp_path, blank):
    path = tmp_path / "blank.en"
    path.write_text("\n \n\n")
    files = {"dev": folder / "dev.en", "test": folder / "test.en"} | {blank: path}
    line = f"{path}: all lines are blank"
    _refused(files["dev"], model_dir("student"), line, test=files["test"])
