"""Probabilities against plain numpy: forced unmasking, ECE, temperature."""

import math

import numpy as np
import pytest

from benchmarks.paper_figures import reliability
from benchmarks.paper_figures.reliability import tempered
from cmlm_tf.errors import UserError
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
    with pytest.raises(UserError, match="probabilities: no pair of sentences fits"):
        reliability.predict_references(translator, ["", "a house"], ["Hund", ""])


def test_expected_calibration_error_by_hand():
    """Bins of 0.1; 1.0 lies in the last, and 0.3 in the one that it begins."""
    confidence = np.array([0.32, 0.3, 0.95, 1.0, 0.91])
    result = reliability.reliability(
        confidence, np.array([True, False, True, True, False])
    )
    expected = [[2, 0.31, 0.5], [3, 2.86 / 3, 2 / 3]]
    np.testing.assert_allclose(result["bins"], expected)
    assert result["ece"] == pytest.approx((2 * 0.19 + 3 * 0.86 / 3) / 5)
    assert result["accuracy"] == 0.6 and result["count"] == 5


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
    counts = {name: group["count"] for name, group in summary["groups"].items()}
    assert counts == {
        **{"all": 40, "pass 1": 20, "pass 2": 20, "rank 1": 2, "rank 2": 2},
        **{"ranks 3 to 4": 4, "ranks 5 to 8": 8, "ranks 9 to 16": 16},
        "ranks from 17": 8,
    }
    accuracy = found.is_right[[0, 20]].mean()
    assert summary["groups"]["rank 1"]["accuracy"] == accuracy
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


def test_a_temperature_reaches_compiled_decoding(translator):
    """Probabilities of the written tokens move towards even ones."""
    hot = []
    for temperature in (1.0, 3.0):
        with tempered(translator, temperature):
            hot.append(translator.translate(SOURCES[:1])[0].score)
    assert hot[1] < hot[0]
    assert translator.translate(SOURCES[:1])[0].score == hot[0]
