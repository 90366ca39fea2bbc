"""Tests of cmlm_tf.evaluation.plots."""

import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image

from cmlm_tf.evaluation import plots
from cmlm_tf.evaluation.plots import plot_quality_speed
from cmlm_tf.evaluation.table import QualitySpeedRow

_SYSTEMS = ("mask_predict", "fixed_k", "thresh", "comb_thresh", "fcomb_thresh")
_ROWS = [
    QualitySpeedRow(system, f"{n}", 20 + n - 0.5 * i, tokens_per_iteration=6 - n)
    for i, system in enumerate(_SYSTEMS)
    for n in range(4)
]


def _axes(teacher_bleu=27.0):
    return plots._draw(_ROWS, teacher_bleu).axes[0]


def test_files_hold_what_is_drawn(tmp_path):
    paths = [tmp_path / "plot.png", tmp_path / "plot.svg"]
    plot_quality_speed(_ROWS, 27.0, paths)
    with Image.open(paths[0]) as image:
        image.load()
        assert image.format == "PNG"
        assert image.width >= 1000 and image.height >= 600
    texts = set(ElementTree.parse(paths[1]).getroot().itertext())
    assert {"mask-predict", "fixed-k", "thresh", "comb-thresh", "fcomb-thresh"} <= texts
    assert {"teacher, beam 5", "speed (tokens per iteration)"} <= texts
    assert "quality (SacreBLEU)" in texts


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_equal_rows_give_equal_files(tmp_path, suffix):
    paths = [tmp_path / f"{name}{suffix}" for name in "abc"]
    plot_quality_speed(_ROWS, 27.0, paths[:2])
    plot_quality_speed(_ROWS, 27.0, paths[2:])
    first, *others = [path.read_bytes() for path in paths]
    assert all(other == first for other in others)


def test_a_line_for_each_system_from_slow_to_fast():
    """The border is a line, too."""
    lines = _axes().get_lines()
    assert lines[0].get_label() == "mask-predict"
    assert lines[0].get_xydata().tolist() == [[3, 23], [4, 22], [5, 21], [6, 20]]
    assert len(lines) == len(_SYSTEMS) + 1
    assert len({line.get_color() for line in lines[:-1]}) == len(_SYSTEMS)
    assert len({line.get_marker() for line in lines[:-1]}) == len(_SYSTEMS)


def test_the_teacher_is_the_top_border_unless_a_student_is_better():
    assert _axes(teacher_bleu=27.0).get_ylim()[1] == 27.0
    assert _axes(teacher_bleu=22.0).get_ylim()[1] > 23.0
