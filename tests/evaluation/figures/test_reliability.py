"""Probabilities against plain numpy: forced unmasking, ECE, temperature."""

import math

import numpy as np
import pytest

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures import reliability
from cmlm_tf.evaluation.figures.temperature import tempered
from cmlm_tf.special_ids import MASK_ID
from cmlm_tf.translate.loading import load_translator
from tests.modeling.small import sentence_batch
from tests.tiny_models import model_dir

SOURCES = ["the small cat sees one dog", "a house", "", "two boats and three trees"]
REFERENCES = ["die kleine Katze sieht", "das Haus", "Hund", "zwei Boot und drei Baum"]


@pytest.fixture(scope="module")
def translator():
    return load_translator(model_dir("student"))


def _logits(translator, source, decoder_ids):
    """float `[length, vocabulary]`, minus infinity where banned."""
    source_ids = np.array([[*source, 3]], np.int32)
    valid = np.ones([1, len(decoder_ids)], bool)
    batch = sentence_batch(source_ids, np.array([decoder_ids], np.int32), valid)
    logits = translator.model(batch)[0].numpy()[0].astype(np.float64)
    logits[:, list(translator.model.banned_ids)] = -np.inf
    return logits


def _log_softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def _plain(translator, source, target):
    """Yields the rows of a sentence, by the rule, one pass after the other."""
    num_best = math.ceil(len(target) / reliability.NUM_PASSES)
    masked, iteration = list(range(len(target))), 0
    while masked:
        iteration += 1
        given = [MASK_ID if i in masked else t for i, t in enumerate(target)]
        logits = _logits(translator, source, given)
        log_probs = _log_softmax(logits)
        order = sorted(masked, key=lambda i: (-log_probs[i].max(), i))
        for rank, i in enumerate(order, start=1):
            right = int(log_probs[i].argmax()) == target[i]
            scaled = [_log_softmax(logits[i] / t) for t in reliability.TEMPERATURES]
            confidence = [math.exp(row.max()) for row in scaled]
            loss = [-row[target[i]] for row in scaled]
            yield (iteration, rank, right, *confidence, *loss)
        masked = order[num_best:]


def test_forced_unmasking_is_that_of_a_plain_loop(translator):
    found = reliability.predict_references(translator, SOURCES, REFERENCES)
    rows = np.column_stack([np.column_stack(found[:3]), found.confidence, found.loss])
    encoded = (translator.subwords.encode(side) for side in (SOURCES, REFERENCES))
    pairs = [
        (source, target) for source, target in zip(*encoded, strict=True) if source
    ]
    assert len(pairs) == 3  # the blank line has no part in it
    expected = np.array([row for pair in pairs for row in _plain(translator, *pair)])
    assert rows.shape == expected.shape
    for array in (rows, expected):
        array[:] = array[np.lexsort(np.round(array[:, ::-1], 3).T)]
    np.testing.assert_allclose(rows, expected, rtol=1e-3, atol=1e-4)


def test_a_text_without_a_pair_that_fits_is_told(translator):
    with pytest.raises(UserError, match="probabilities: no pair of sentences fits"):
        reliability.predict_references(translator, ["", "a house"], ["Hund", ""])


def test_expected_calibration_error_by_its_definition():
    rng = np.random.default_rng(1)
    confidence, right = rng.uniform(size=200), rng.uniform(size=200) < 0.4
    confidence[0] = 1.0
    result = reliability.reliability(confidence, right)
    error = 0.0
    for low in range(10):
        inside = [
            (c, r)
            for c, r in zip(confidence, right, strict=True)
            if low / 10 <= c < (low + 1) / 10 or (low == 9 and c == 1.0)
        ]
        mean = sum(c for c, _ in inside) / len(inside)
        share = sum(r for _, r in inside) / len(inside)
        error += abs(mean - share) * len(inside) / 200
    assert result["ece"] == pytest.approx(error)
    assert result["accuracy"] == pytest.approx(right.mean())
    assert sum(cells[0] for cells in result["bins"]) == result["count"] == 200


def test_a_summary_groups_by_pass_and_by_rank():
    n, width = 40, len(reliability.TEMPERATURES)
    rng = np.random.default_rng(2)
    found = reliability.Predictions(
        iteration=np.repeat([1, 2], 20),
        rank=np.tile(np.arange(1, 21), 2),
        is_right=rng.uniform(size=n) < 0.5,
        confidence=rng.uniform(size=[n, width]),
        loss=rng.uniform(size=[n, width]),
    )
    summary = reliability.summarize(found, 1.0)
    column = reliability.TEMPERATURES.index(1.0)
    assert summary["loss"] == pytest.approx(found.loss[:, column].mean())
    assert [group["count"] for group in summary["by_iteration"]] == [20, 20]
    firsts = [group["first_rank"] for group in summary["by_rank"]]
    assert firsts == [1, 2, 3, 5, 9, 17]
    counts = [group["count"] for group in summary["by_rank"]]
    assert counts == [2, 2, 4, 8, 16, 8]
    best = reliability.best_temperature(found)
    losses = found.loss.mean(axis=0)
    assert losses[reliability.TEMPERATURES.index(best)] == losses.min()


def test_a_temperature_divides_the_logits_for_a_while(translator):
    source = translator.subwords.encode(SOURCES[:1])[0]
    decoder_ids = [MASK_ID] * 4
    before = _logits(translator, source, decoder_ids)
    with tempered(translator, 2.5):
        divided = _logits(translator, source, decoder_ids)
    after = _logits(translator, source, decoder_ids)
    finite = np.isfinite(before)
    np.testing.assert_allclose(divided[finite], before[finite] / 2.5, atol=1e-5)
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("xla", [False, True])
def test_a_temperature_reaches_compiled_decoding(xla):
    """Probabilities of the written tokens move towards even ones."""
    translator = load_translator(model_dir("student"), xla=xla)
    hot = []
    for temperature in (1.0, 3.0):
        with tempered(translator, temperature):
            hot.append(translator.translate(SOURCES[:1])[0].score)
    assert hot[1] < hot[0]
    assert translator.translate(SOURCES[:1])[0].score == hot[0]
