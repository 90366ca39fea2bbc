"""Kinds of points against translations made one by one."""

import dataclasses
from unittest import mock

import pytest
from sacrebleu.metrics import BLEU

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.bleu import CorpusScore, resampled_bleu
from cmlm_tf.evaluation.figures import workbench
from cmlm_tf.evaluation.figures.lengths import predicted_lengths
from cmlm_tf.evaluation.figures.points import PointStore
from cmlm_tf.evaluation.figures.split import Split, read_split
from cmlm_tf.evaluation.figures.workbench import Workbench
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from tests import tiny_models
from tests.tiny_models import WORDS, model_dir

SOURCES = tuple(" ".join(WORDS[i : i + 5]) for i in range(8)) + ("", "the cat " * 30)
FIXED = UnmaskingOptions("fixed_k", 2, length_beam=4)


def _references():
    """Texts near what the random model writes: scores are neither 0 nor all equal."""
    translator = tiny_models.translator("student")
    options = UnmaskingOptions("mask_predict", 3, length_beam=2)
    return tuple(t.text for t in translator.translate(SOURCES, options))


REFERENCES = _references()
TEST = Split("test", SOURCES, REFERENCES)


def _char_bleu(hypotheses, references, language, num_resamples=0):
    """The random model writes few words: BLEU of its characters."""
    metric = BLEU(tokenize="char", smooth_method="add-k")
    value = metric.corpus_score(hypotheses, [references]).score
    return CorpusScore(value, 1.0 if num_resamples else None, language)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    store = PointStore(tmp_path_factory.mktemp("points"))
    dirs = str(model_dir("student")), str(model_dir("teacher"))
    with mock.patch.object(workbench, "sacre_bleu", _char_bleu):
        yield Workbench(store, *dirs, TEST, TEST, sentences_per_batch=4)


def _bleu(translations):
    return _text_bleu([translation.text for translation in translations])


def _text_bleu(texts):
    value = _char_bleu(texts, REFERENCES, "de").value
    assert 0 < value < 100
    return value


def _speed(translations):
    passes = sum(translation.iterations for translation in translations)
    return sum(translation.num_tokens for translation in translations) / passes


def test_quality_is_that_of_the_translations(bench):
    for translator, options in (
        (bench.student, FIXED),
        (bench.teacher, BeamOptions(beam_size=2)),
    ):
        translations = translator.translate(SOURCES, options)
        point = bench.quality(options, TEST)
        assert point["bleu"] == pytest.approx(_bleu(translations))
        assert point["slowest"] == pytest.approx(_speed(translations))
        assert point["bleu_ci"] == 1.0
        texts = [translation.text for translation in translations]
        assert point["resampled"] == resampled_bleu(texts, REFERENCES, "de")


def test_oracle_lengths_and_temperature_change_the_point(bench):
    plain = bench.quality(FIXED, TEST)
    oracle = bench.quality(FIXED, TEST, oracle=True)
    translations = bench.student.translate(SOURCES, FIXED, REFERENCES)
    assert oracle["slowest"] == pytest.approx(_speed(translations))
    assert oracle != plain
    tau = UnmaskingOptions("comb_thresh", 0.01, length_beam=4)
    cold = bench.quality(tau, TEST, temperature=0.2)
    assert cold["slowest"] > bench.quality(tau, TEST)["slowest"]


@pytest.mark.parametrize("b", [1, 2, 3, 4])
def test_a_narrow_beam_out_of_a_wide_one_is_the_narrow_beam(bench, b):
    point = bench.beams(FIXED, TEST, 4)["beams"][b - 1]
    options = dataclasses.replace(FIXED, length_beam=b)
    translations = bench.student.translate(SOURCES[:-1], options)
    # The last line is translated in parts and keeps the wide beam.
    translations += bench.student.translate(SOURCES[-1:], FIXED)
    assert point["bleu"] == pytest.approx(_bleu(translations))
    assert point["slowest"] == pytest.approx(_speed(translations))


def test_predicted_lengths_are_those_of_the_candidates(bench):
    predicted = predicted_lengths(bench.student, SOURCES[:8], 4)
    for lengths, translation in zip(
        predicted, bench.student.translate(SOURCES[:8], FIXED), strict=True
    ):
        (part,) = translation.candidates
        assert sorted(lengths) == sorted(len(c.tokens) for c in part)
    alone = dataclasses.replace(FIXED, length_beam=1)
    for lengths, translation in zip(
        predicted, bench.student.translate(SOURCES[:8], alone), strict=True
    ):
        assert lengths[0] == translation.num_tokens


def test_bleu_after_each_pass(bench):
    """The first pass by hand, and the last is the translation."""
    options = UnmaskingOptions("fixed_k", 4, length_beam=4)  # few enough passes
    point = bench.passes(options, TEST)
    traced = dataclasses.replace(options, trace=True)
    translations = bench.student.translate(SOURCES, traced)
    assert len(point["bleu"]) == max(t.iterations for t in translations)
    assert len(point["resampled"]) == len(point["bleu"])
    assert point["bleu"][-1] == pytest.approx(bench.quality(options, TEST)["bleu"])
    texts = []
    for translation in translations:
        first = [part[0].passes[0]["token_ids"] for part in translation.candidates]
        texts.append(" ".join(bench.student.subwords.decode(first)))
    assert point["bleu"][0] == pytest.approx(_text_bleu(texts))


def test_passes_by_reference_length(bench):
    options = UnmaskingOptions("fixed_k", 2, length_beam=1)
    point = bench.iterations(options, TEST)
    translations = bench.student.translate(SOURCES, options, REFERENCES)
    expected = {}
    for t in translations:
        if t.num_tokens:
            row = expected.setdefault(str(t.num_tokens), [0, 0, 0])
            row[:] = row[0] + 1, row[1] + t.iterations, row[2] + t.iterations**2
    assert point["lengths"] == expected
    assert point["speed"] == pytest.approx(_speed(translations))
    # A sentence of N subwords takes N / 2 passes, rounded up.
    lines = [i for i, t in enumerate(translations) if len(t.candidates) == 1]
    assert all(
        translations[i].iterations == -(-translations[i].num_tokens // 2) for i in lines
    )


def test_models_of_the_wrong_role(tmp_path):
    student, teacher = str(model_dir("student")), str(model_dir("teacher"))
    store = PointStore(tmp_path)
    with pytest.raises(UserError, match="not a student"):
        Workbench(store, teacher, teacher, TEST, TEST)
    with pytest.raises(UserError, match="not a teacher"):
        Workbench(store, student, student, TEST, TEST)


def test_the_first_lines_of_a_corpus(tmp_path):
    (tmp_path / "a.en").write_text("a\nb\nc\n")
    (tmp_path / "a.de").write_text("d\ne\nf\n")
    corpus = f"files:{tmp_path}/a.en,{tmp_path}/a.de"
    split = read_split("dev", corpus, 2)
    assert (split.sources, split.references) == (("a", "b"), ("d", "e"))
    assert read_split("dev", corpus, None).key != split.key


def test_a_corpus_without_text_is_named(tmp_path):
    (tmp_path / "a.en").write_text("a\nb\n")
    (tmp_path / "a.de").write_text(" \n\n")
    corpus = f"files:{tmp_path}/a.en,{tmp_path}/a.de"
    with pytest.raises(UserError, match="^dev: files:.*: all lines of a side are"):
        read_split("dev", corpus, None)
