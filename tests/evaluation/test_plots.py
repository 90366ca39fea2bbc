"""Tests of cmlm_tf.evaluation.plots."""

import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image

from cmlm_tf.evaluation import plots
from cmlm_tf.evaluation.plots import plot_quality_speed
from cmlm_tf.evaluation.table import QualitySpeedRow

_SYSTEMS = ("mask_predict", "fixed_k", "thresh", "comb_thresh", "fcomb_thresh")
_ROWS = [QualitySpeedRow("teacher", "greedy", 26.0)] + [
    QualitySpeedRow(system, f"{n}", 20 + n - 0.5 * i, tokens_per_iteration=6 - n)
    for i, system in enumerate(_SYSTEMS)
    for n in range(4)
]


def _axes(rows=_ROWS, teacher_bleu=27.0):
    return plots._draw(rows, teacher_bleu, "teacher, beam 5").axes[0]


def test_png_can_be_read(tmp_path):
    path = tmp_path / "plot.png"
    plot_quality_speed(_ROWS, 27.0, [path])
    with Image.open(path) as image:
        image.load()
        assert image.format == "PNG"
        assert image.width >= 1000 and image.height >= 600


def test_svg_holds_axes_and_labels_as_text(tmp_path):
    path = tmp_path / "plot.svg"
    plot_quality_speed(_ROWS, 27.0, [path])
    root = ElementTree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = set(root.itertext())
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


def test_points_are_joined_from_slow_to_fast():
    line = _axes().get_lines()[0]
    assert line.get_label() == "mask-predict"
    assert line.get_xydata().tolist() == [[3, 23], [4, 22], [5, 21], [6, 20]]


def test_lines_differ_in_color_and_marker():
    lines = _axes().get_lines()[: len(_SYSTEMS)]
    assert len({line.get_color() for line in lines}) == len(_SYSTEMS)
    assert len({line.get_marker() for line in lines}) == len(_SYSTEMS)


def test_rows_without_speed_are_left_out():
    labels = [line.get_label() for line in _axes().get_lines()]
    assert "teacher" not in labels
    assert len(labels) == len(_SYSTEMS) + 1


def test_teacher_is_the_top_border():
    assert _axes(teacher_bleu=27.0).get_ylim()[1] == 27.0


def test_better_student_stays_visible():
    assert _axes(teacher_bleu=22.0).get_ylim()[1] > 23.0


def test_without_teacher():
    assert len(_axes(teacher_bleu=None).get_lines()) == len(_SYSTEMS)
