"""Kinds of points against translations made one by one."""

import dataclasses
import statistics
from unittest import mock

import pytest
from sacrebleu.metrics import BLEU

from benchmarks.paper_figures import points
from benchmarks.paper_figures.points import (
    Text,
    predicted_lengths,
    read_text,
    resampled_bleu,
)
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.bleu import CorpusScore, sacre_bleu
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from tests import tiny_models
from tests.benchmarks.paper_figures.tiny_run import workbench
from tests.tiny_models import WORDS, model_dir

SOURCES = tuple(" ".join(WORDS[i : i + 5]) for i in range(8)) + ("", "the cat " * 30)
FIXED = UnmaskingOptions("fixed_k", 2, length_beam=4)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """References are near what the random model writes: scores are not all equal."""
    options = UnmaskingOptions("mask_predict", 3, length_beam=2)
    found = tiny_models.translator("student").translate(SOURCES, options)
    test = Text(SOURCES, tuple(translation.text for translation in found))
    with mock.patch.object(points, "sacre_bleu", _char_bleu):
        yield workbench(tmp_path_factory.mktemp("points"), test)


def _char_bleu(hypotheses, references, language, num_resamples=0):
    """The random model writes few words: BLEU of its characters."""
    metric = BLEU(tokenize="char", smooth_method="add-k")
    value = metric.corpus_score(hypotheses, [references]).score
    assert 0 < value < 100
    return CorpusScore(value, 1.0 if num_resamples else None, language)


def _check(point, texts, speed, bench):
    references = bench.test.references
    assert point["bleu"] == pytest.approx(_char_bleu(texts, references, "de").value)
    assert point["slowest"] == pytest.approx(speed)
    assert point["resampled"] == resampled_bleu(texts, references, "de")


def _speed(translations):
    passes = sum(translation.iterations for translation in translations)
    return sum(translation.num_tokens for translation in translations) / passes


@pytest.mark.parametrize("role", ["student", "teacher"])
def test_quality_is_that_of_the_translations(bench, role):
    options = FIXED if role == "student" else BeamOptions(beam_size=2)
    found = bench._load(role).translate(SOURCES, options)
    texts = [translation.text for translation in found]
    _check(bench.quality(options, bench.test), texts, _speed(found), bench)


def test_a_point_depends_on_the_temperature(bench):
    tau = UnmaskingOptions("comb_thresh", 0.01, length_beam=4)
    speeds = [bench.quality(tau, bench.test, t)["slowest"] for t in (0.2, 1.0)]
    assert speeds[0] > speeds[1]


@pytest.mark.parametrize("b", [1, 2, 3, 4])
def test_a_narrow_beam_out_of_a_wide_one_is_the_narrow_beam(bench, b):
    point = bench.beams(FIXED, 4)[b - 1]
    options = dataclasses.replace(FIXED, length_beam=b)
    found = bench.student.translate(SOURCES[:-1], options)
    # The last line is translated in parts and keeps the wide beam.
    found += bench.student.translate(SOURCES[-1:], FIXED)
    _check(point, [t.text for t in found], _speed(found), bench)


def test_predicted_lengths_are_those_of_the_candidates(bench):
    predicted = predicted_lengths(bench.student, SOURCES[:8], 4)
    for beam in (4, 1):
        options = dataclasses.replace(FIXED, length_beam=beam)
        found = bench.student.translate(SOURCES[:8], options)
        for lengths, translation in zip(predicted, found, strict=True):
            (part,) = translation.candidates
            assert sorted(lengths[:beam]) == sorted(len(c.tokens) for c in part)


def test_bleu_after_each_pass(bench):
    """The first pass by hand, and the last is the translation."""
    options = UnmaskingOptions("fixed_k", 4, length_beam=4)  # few enough passes
    point = bench.passes(options)
    traced = dataclasses.replace(options, trace=True)
    found = bench.student.translate(SOURCES, traced)
    assert len(point["bleu"]) == max(t.iterations for t in found)
    assert len(point["resampled"]) == len(point["bleu"])
    last = bench.quality(options, bench.test)
    assert point["bleu"][-1] == pytest.approx(last["bleu"])
    texts = []
    for translation in found:
        first = [part[0].passes[0]["token_ids"] for part in translation.candidates]
        texts.append(" ".join(bench.student.subwords.decode(first)))
    expected = _char_bleu(texts, bench.test.references, "de").value
    assert point["bleu"][0] == pytest.approx(expected)


def test_passes_by_reference_length(bench):
    point = bench.iterations(dataclasses.replace(FIXED, length_beam=1))
    lengths = map(len, bench.student.subwords.encode(bench.test.references))
    rows = [(n, -(-n // 2)) for n in lengths if n]  # N / 2 passes, rounded up
    short = [n for n, _ in rows if n < bench.longest]
    assert point["rows"][: len(short)] == rows[: len(short)]
    total, count = (sum(column) for column in zip(*point["rows"], strict=True))
    assert point["speed"] == pytest.approx(total / count)


def test_resamples_are_sacrebleus_and_the_same_for_all_systems():
    """Their spread is sacrebleu's interval; equal matches differ in no resample."""
    words = "der die das Hund Katze Haus sieht kauft rot blau heute nicht".split()
    references = [
        " ".join(words[i * k % 12] for k in range(1, 9)) + f" {i}" for i in range(90)
    ]
    first, second = (
        resampled_bleu([r.replace("rot", wrong) for r in references], references, "de")
        for wrong in ("rosa", "lila")
    )
    assert first == second and len(set(first)) > 50
    hypotheses = [r.replace("rot", "rosa") for r in references]
    score = sacre_bleu(hypotheses, references, "de", points.NUM_PAIRED)
    assert statistics.mean(first) == pytest.approx(score.value, abs=1.0)
    assert 1.96 * statistics.stdev(first) == pytest.approx(score.confidence, rel=0.2)


def test_texts_and_models_are_checked(tmp_path):
    (tmp_path / "a.en").write_text("a\nb\nc\n")
    (tmp_path / "a.de").write_text("d\ne\nf\n")
    corpus = f"files:{tmp_path}/a.en,{tmp_path}/a.de"
    first = read_text(corpus, 2)
    assert first == Text(("a", "b"), ("d", "e"))
    assert read_text(corpus).sha256 != first.sha256
    (tmp_path / "a.de").write_text(" \n\n\n")
    with pytest.raises(UserError, match="^files:.*: all lines of a side are blank"):
        read_text(corpus)
    teacher = str(model_dir("teacher"))
    with pytest.raises(UserError, match="not a student"):
        points.Workbench(tmp_path, {"student": teacher}, first)
