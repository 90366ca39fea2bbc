"""benchmarks/decoding.py tells a mistake in one line, before it measures anything."""

import json
from xml.etree import ElementTree

import pytest

from benchmarks.decoding_plot import plot_decoding
from benchmarks.systems import baselines_of
from tests.commands import run_command
from tests.tiny_models import WORDS, model_dir, subword_file

# Prints what would be measured.
_KINDS = """
import json
from benchmarks import decoding
from cmlm_tf.commands import cli

def show(models, corpus, scratch):
    print(json.dumps(list(decoding._systems(models, 1, scratch))))

decoding._measure = show
cli.run(decoding.main)
"""

_CONFIG = """
from ml_collections import ConfigDict

def get_config():
    sizes = {"model_dim": 16, "num_heads": 2, "feed_forward_dim": 32}
    return ConfigDict({"model": {**sizes, "max_length": 24}})
"""

_CASES = {
    "--settings=comb_thresh": "['comb_thresh']: must be HEURISTIC:SETTING, not 'c",
    "--settings=nosuch:1": "heuristic must be one of mask_predict, fixed_k, thresh",
    "--lengths=x": "must be two whole numbers from 1",
    "--lengths=9,3": "must be two whole numbers from 1",
    "--lengths=20,21": "20,21: the corpus has no such sentences",
    "--batch_sizes=0": "0 is not a positive integer",
    "--batch_sizes=2,x": "invalid literal for int() with base 10: 'x'",
    "--batch_sizes=": "must not be empty",
    "--beam_sizes=0": "beam_size must be from 1 to 1000, not 0",
    "--length_beams=0": "length_beam must be at least 1",
    "--length_beams=25": "--length_beams: the student has 24 length classes",
    "--beam_sizes= --settings=": "--settings are empty: nothing to measure",
    "--rounds=0": "0 is not a positive integer",
    "--threads=0": "0 is not a positive integer",
    "--bleu_lines=-1": "-1 is not a non-negative integer",
    "--bleu_lines=99": "--bleu_lines=99: files:a.en,a.de has 4 lines",
    "--corpus=files:none,a.de": "none: No such file or directory",
    "--corpus=files:long.en,long.de": "--lengths=1,100: sentence 1 has ",
    "--dtype=float8": "should be one of <float32|bfloat16>",
    "--xla=yes": "value should be one of <false|true>",
    "--output=": "flag --output is empty",
    "--output=a.en/o.json": "--output: a.en/o.json: ",
    "--plot=p.gif": "must end in one of .svg, .png, .pdf",
    "--output=p.svg --plot=p.svg": "p.svg: named for --plot and for --output",
    "--output=a.de": "a.de: named for --output and for the target of --corpus",
    "--teacher_layers=2-1": "--teacher_layers needs --random_config",
    "--teacher_layers=2-": "must be ENCODER-DECODER, such as 12-1, not '2-'",
    "--subword_model=tiny.model": "--subword_model needs --random_config",
    "--random_config=config.py": "--student_dir has no use with --random_config",
}


def _told(flags, folder):
    """Runs the command, which must fail, and returns the one line that it tells."""
    result = run_command("benchmarks/decoding.py", *flags, cwd=folder)
    assert (result.returncode, result.stdout) == (1, "")
    assert "Traceback" not in result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    return last


def _trained():
    folders = [f"--{role}_dir={model_dir(role)}" for role in ("student", "teacher")]
    return [*folders, "--corpus=files:a.en,a.de", "--output=o.json"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    for name, first, repeats in (
        ("a.en", 0, 1),
        ("a.de", 20, 1),
        ("long.en", 0, 9),
        ("long.de", 20, 1),
    ):
        lines = (" ".join(WORDS[first + i : first + i + 4] * repeats) for i in range(4))
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "config.py").write_text(_CONFIG)
    (folder / "o.json").write_text("kept")
    yield folder
    assert (folder / "o.json").read_text() == "kept"


@pytest.mark.parametrize("case", _CASES)
def test_a_mistake_is_one_line(folder, case):
    last = _told([*_trained(), *case.split(" ")], folder)
    assert _CASES[case] in last
    if not case.startswith("--corpus=files"):
        assert case.split("=")[0] in last


_RANDOM = ["--random_config=config.py", "--output=o.json"]


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (_RANDOM, "--random_config needs --subword_model"),
        ([*_RANDOM, "MODEL", "--bleu_lines=2"], "--bleu_lines has no use with"),
        ([*_RANDOM, "--subword_model=no.model"], "no.model: "),
        (["--output=o.json"], "--student_dir is needed, or --random_config"),
    ],
)
def test_flags_of_random_models_and_missing_ones(folder, flags, line):
    model = f"--subword_model={subword_file()}"
    assert line in _told([model if f == "MODEL" else f for f in flags], folder)


def test_compute_types_are_checked_at_once(folder):
    pytest.importorskip("ctranslate2")
    # Which types there are, the CPU decides; every one has float32.
    last = _told([*_trained(), "--ctranslate2=float32,int9"], folder)
    assert last.startswith("error: --ctranslate2: 'int9' is not among float32, ")


def test_systems_that_are_compiled_and_not(folder):
    (folder / "kinds.py").write_text(_KINDS)
    flags = [*_trained(), "--xla=false,True", "--beam_sizes=5", "--length_beams=1"]
    result = run_command(folder / "kinds.py", *flags, cwd=folder)
    assert result.returncode == 0, result.stderr
    own = ["teacher beam 5", "fixed_k 4 b=1"]
    assert json.loads(result.stdout) == own + [f"{name} xla" for name in own]


def test_ticks_are_numbers_and_rows_without_bleu_are_left_out(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [
        {
            "system": system,
            "batch_size": size,
            "p50_ms": 3.0 * size,
            "sentences_per_second": 30.0 * size,
            "bleu": 37.5 if system == "student" and size == 64 else None,
        }
        for system in ("teacher", "student")
        for size in (1, 8, 64)
    ]
    plot_decoding(rows, tmp_path / "a.svg")
    drawing = ElementTree.parse(tmp_path / "a.svg")
    texts = [
        element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")
    ]
    assert {"1", "8", "64", "5", "100", "37.5", "student"} <= set(texts)
    assert not any("$" in text for text in texts)
    plot_decoding([{**row, "bleu": None} for row in rows], tmp_path / "b.svg")
    assert "SacreBLEU" not in (tmp_path / "b.svg").read_text()


def test_systems_are_compared_with_their_own_kind():
    names = ["teacher beam 5", "teacher beam 5 xla", "ct2 float32 beam 5"]
    teacher, compiled, other = names
    measured = dict(zip(names, names, strict=True))
    assert list(baselines_of("fixed_k 4 b=1", measured).values()) == [teacher, other]
    assert list(baselines_of("thresh 1 xla", measured).values()) == [compiled, other]
    assert list(baselines_of(other, {compiled: compiled}).values()) == [compiled]
