"""How good the length classifier is, and beams that are part of wider ones."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from cmlm_tf.translate.batches import BatchShapes
from cmlm_tf.translate.results import Translation
from cmlm_tf.translate.translator import Translator

_SENTENCES_PER_BATCH = 128
DISTANCES = (0, 1, 2, 5)


def predicted_lengths(
    translator: Translator, sources: Sequence[str], most: int
) -> list[tuple[int, ...]]:
    """Predicts target lengths, in subwords.

    Args:
        translator: of a student.
        sources: lines; one that is too long for the model is cut.
        most: how many lengths for each.

    Returns:
        The most probable lengths of each line, best first.
    """
    room = translator.model.config.max_length - 1
    shapes = BatchShapes(_SENTENCES_PER_BATCH, room + 1, static=False)
    encoded = [ids[:room] for ids in translator.subwords.encode(sources)]
    lengths: list[tuple[int, ...]] = [()] * len(encoded)
    for batch in shapes.batches([len(ids) for ids in encoded]):
        _, logits = translator.model.start(shapes.pad([encoded[i] for i in batch]))
        best = np.argsort(-logits.numpy(), axis=1, kind="stable")[:, :most] + 1
        for i, row in zip(batch, best.tolist(), strict=True):
            lengths[i] = tuple(row)
    return lengths


def length_accuracy(
    predicted: Sequence[Sequence[int]], references: Sequence[int]
) -> dict[str, Any]:
    """Compares predicted with reference lengths.

    >>> length_accuracy([[5, 4], [7, 8]], [4, 9])
    {'within': {'0': 0.0, '1': 0.5, '2': 1.0, '5': 1.0}, 'contained': [0.0, 0.5]}

    Args:
        predicted: for each sentence its most probable lengths, best first.
        references: the reference's length of each sentence.

    Returns:
        `within`: by distance, the share of sentences whose most probable length is
        no farther than that; `contained`: by length beam, from 1, the share whose
        reference length is one of the best b.
    """
    table, truth = np.array(predicted), np.array(references)[:, np.newaxis]
    distance = np.abs(table[:, :1] - truth)
    found = np.cumsum(table == truth, axis=1) > 0
    return {
        "within": {str(d): float(np.mean(distance <= d)) for d in DISTANCES},
        "contained": np.mean(found, axis=0).tolist(),
    }


def narrow_beam(translation: Translation, lengths: Collection[int]) -> Translation:
    """Takes only the candidates of some lengths, as a narrower beam has them.

    Candidates of a sentence do not depend on each other. A line that was translated
    in parts keeps all.

    Args:
        translation: with candidates of more lengths, none dropped.
        lengths: those to keep.
    """
    if len(translation.candidates) != 1:
        return translation
    (part,) = translation.candidates
    kept = [candidate for candidate in part if len(candidate.tokens) in lengths]
    return Translation.join([kept])
