"""Are the model's probabilities right? By pass, by rank, by temperature.

A reference is unmasked as mask-predict would unmask a hypothesis: each pass ranks
the masked positions by the probability of the model's best token, and the best of
them show the reference's token from then on. So a prediction always stands at its
own position, and its probability can be compared with how often it is right.
"""

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import tensorflow as tf

from cmlm_tf.decoding.heuristics import MaskPredict
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.output import ban
from cmlm_tf.special_ids import MASK_ID, PAD_ID
from cmlm_tf.translate.batches import BatchShapes
from cmlm_tf.translate.translator import Translator

NUM_PASSES = 5
NUM_BINS = 10
TEMPERATURES = tuple(round(0.6 + 0.1 * i, 1) for i in range(20))
#: Groups of ranks, counted from 1, the best: the first of each, and its name.
RANKS = (1, 2, 3, 5, 9, 17)
RANK_NAMES = (
    *("rank 1", "rank 2", "ranks 3 to 4"),
    *("ranks 5 to 8", "ranks 9 to 16", "ranks from 17"),
)
_SENTENCES_PER_BATCH = 32


class Predictions(NamedTuple):
    """Predictions at masked positions, one a row.

    Attributes:
        iteration: int `[n]`, the pass, from 1.
        rank: int `[n]`, among the masked positions of its sentence, 1 is best.
        is_right: bool `[n]`, whether the best token is the reference's.
        confidence: float `[n, temperatures]`, probability of the best token.
        loss: float `[n, temperatures]`, negative log-probability of the reference's.
    """

    iteration: np.ndarray
    rank: np.ndarray
    is_right: np.ndarray
    confidence: np.ndarray
    loss: np.ndarray


@contextlib.contextmanager
def tempered(translator: Translator, temperature: float) -> Iterator[None]:
    """Divides the decoder's logits by a temperature for a while (Guo et al., 2017).

    The logits are linear in the output of the last layer norm, so its two weights
    are divided instead, and no graph changes.
    """
    weights = translator.model.decoder.norm.weights
    before = [weight.numpy() for weight in weights]
    try:
        for weight, value in zip(weights, before, strict=True):
            weight.assign(value / temperature)
        translator.refresh()
        yield
    finally:
        for weight, value in zip(weights, before, strict=True):
            weight.assign(value)
        translator.refresh()


def predict_references(
    translator: Translator, sources: Sequence[str], references: Sequence[str]
) -> Predictions:
    """Predicts the references' subwords while these are unmasked, pass by pass.

    Pairs with an empty or too long side are left out.

    Raises:
        UserError: no pair is left.
    """
    longest = translator.model.config.max_length - 1
    sides = (translator.subwords.encode(side) for side in (sources, references))
    pairs = [
        pair
        for pair in zip(*sides, strict=True)
        if all(0 < len(side) <= longest for side in pair)
    ]
    if not pairs:
        raise UserError("probabilities: no pair of sentences fits the model")
    shapes = BatchShapes(_SENTENCES_PER_BATCH, longest + 1, static=False)
    step = tf.function(_make_step(translator), reduce_retracing=True)
    parts: list[Predictions] = []
    for batch in shapes.batches([len(target) for _, target in pairs]):
        source_ids = shapes.pad([pairs[i][0] for i in batch])
        targets = tf.ragged.constant([pairs[i][1] for i in batch], tf.int32)
        parts += _passes(step, source_ids, targets.to_tensor(PAD_ID).numpy())
    return Predictions(*map(np.concatenate, zip(*parts, strict=True)))


def _passes(step, source_ids, target_ids) -> Iterator[Predictions]:
    mask, iteration = target_ids != PAD_ID, 0
    while mask.any():
        iteration += 1
        found = step(source_ids, target_ids, mask, tf.constant(iteration))
        rank, *others, observed = (x.numpy() for x in found)
        yield Predictions(np.full(mask.sum(), iteration), rank[mask], *others)
        mask = mask & ~observed


def _make_step(translator: Translator):
    """Returns the graph of one pass over a batch."""
    model, heuristic = translator.model, MaskPredict(NUM_PASSES)

    def step(source_ids, target_ids, mask, iteration):
        decoder_ids = tf.where(mask, MASK_ID, target_ids)
        logits, _ = model(_one_sentence_a_row(source_ids, decoder_ids))
        logits = ban(logits, model.banned_ids)
        best = tf.reduce_max(logits, axis=-1)
        log_probs = best - tf.reduce_logsumexp(logits, axis=-1)
        order = tf.argsort(tf.where(mask, -log_probs, math.inf))
        ranks = tf.argsort(order, stable=True) + 1
        observed = heuristic(log_probs, mask, target_ids != PAD_ID, iteration)
        wanted, truth = logits[mask], target_ids[mask]
        # [n, vocabulary] -> [n, temperatures]
        sums = tf.stack(
            [tf.reduce_logsumexp(wanted / t, axis=-1) for t in TEMPERATURES], axis=-1
        )
        inverse = 1 / tf.constant(TEMPERATURES)
        confidence = tf.exp(best[mask][:, tf.newaxis] * inverse - sums)
        right = tf.gather(wanted, truth, batch_dims=1)[:, tf.newaxis]
        is_right = tf.argmax(wanted, axis=-1, output_type=tf.int32) == truth
        return ranks, is_right, confidence, sums - right * inverse, observed

    return step


def _one_sentence_a_row(source_ids, decoder_ids) -> dict[str, tf.Tensor]:
    batch = {"source_ids": source_ids, "decoder_ids": decoder_ids}
    for side, ids in ("source", source_ids), ("target", decoder_ids):
        batch[f"{side}_segments"] = tf.cast(ids != PAD_ID, tf.int32)
        batch[f"{side}_positions"] = tf.zeros_like(ids) + tf.range(tf.shape(ids)[1])
    return batch


def best_temperature(predictions: Predictions) -> float:
    """Returns the one of `TEMPERATURES` with the smallest loss."""
    return TEMPERATURES[int(predictions.loss.mean(axis=0).argmin())]


def summarize(predictions: Predictions, temperature: float) -> dict[str, Any]:
    """Summarises reliability at one of `TEMPERATURES`.

    Returns:
        `temperature`, `loss` in nats, and `groups`: what `reliability` returns, by
        `all`, `pass 1`, ..., `rank 1`, ...
    """
    column = TEMPERATURES.index(temperature)
    confidence, right = predictions.confidence[:, column], predictions.is_right
    frame = pd.DataFrame({"confidence": confidence, "right": right})
    passes = np.array([f"pass {number}" for number in predictions.iteration])
    edges = [*RANKS, math.inf]
    ranks = pd.cut(predictions.rank, edges, right=False, labels=RANK_NAMES)
    groups = {"all": frame, **dict(iter(frame.groupby(passes)))}
    groups |= dict(iter(frame.groupby(ranks, observed=True)))
    return {
        "temperature": temperature,
        "loss": float(predictions.loss[:, column].mean()),
        "groups": {
            name: reliability(part.confidence.to_numpy(), part.right.to_numpy())
            for name, part in groups.items()
        },
    }


def reliability(confidence: np.ndarray, is_right: np.ndarray) -> dict[str, Any]:
    """Compares probabilities, float `[n]`, with how often predictions are right.

    The expected calibration error (ECE) is the mean distance between the two over
    bins of equal width, weighted by how many predictions a bin holds.

    >>> result = reliability(np.array([0.9, 0.9, 0.3]), np.array([True, False, False]))
    >>> round(result["ece"], 3)
    0.367

    Returns:
        `count`, the means `confidence` and `accuracy`, `ece`, and `bins` from low to
        high, each `[count, confidence, accuracy]`, empty ones left out.
    """
    numbers = np.minimum((confidence * NUM_BINS).astype(int), NUM_BINS - 1)
    bins = [
        [int(chosen.sum()), *(float(x[chosen].mean()) for x in (confidence, is_right))]
        for number in np.unique(numbers)
        for chosen in [numbers == number]
    ]
    error = sum(count * abs(mean - share) for count, mean, share in bins)
    return {
        "count": len(confidence),
        "confidence": float(confidence.mean()),
        "accuracy": float(is_right.mean()),
        "ece": error / len(confidence),
        "bins": bins,
    }
