"""The sentences of the decoding benchmark: batches of them, and BLEU of what comes."""

import random
from collections.abc import Sequence

from benchmarks.systems import Batch, System
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.bleu import sacre_bleu

Ids = Sequence[int]


def check_room(flag: str, sentences: Sequence[Ids], room: int) -> None:
    """Raises a `UserError` if a sentence that a flag takes in is no model's."""
    for number, ids in enumerate(sentences, start=1):
        if not 1 <= len(ids) <= room:
            raise UserError(
                f"{flag}: sentence {number} has {len(ids)} subwords, the models take "
                f"1 to {room}"
            )


def pairs_within(
    pairs: Sequence[tuple[Ids, Ids]], low: int, high: int, room: int
) -> list[tuple[Ids, Ids]]:
    """Returns the pairs whose sides both have from `low` to `high` subwords.

    Raises:
        UserError: there is none, or one is longer than the models take.
    """
    kept = [pair for pair in pairs if all(low <= len(ids) <= high for ids in pair)]
    if not kept:
        raise UserError(f"--lengths={low},{high}: the corpus has no such sentences")
    for side in zip(*kept, strict=True):
        check_room(f"--lengths={low},{high}", side, room)
    return kept


def draw_batches(
    pairs: Sequence[tuple[Ids, Ids]], size: int, count: int, with_lengths: bool
) -> list[Batch]:
    """Draws batches of sentences in random order, as requests would come.

    Args:
        pairs: subword ids of sources and references.
        size: sentences of a batch.
        count: number of batches.
        with_lengths: whether the batches have the references' lengths.
    """
    pairs = list(pairs)
    random.Random(1).shuffle(pairs)
    while len(pairs) < size * count:
        pairs = pairs + pairs
    batches = []
    for start in range(0, size * count, size):
        sources, references = zip(*pairs[start : start + size], strict=True)
        lengths = [len(ids) for ids in references] if with_lengths else None
        batches.append(Batch(sources, lengths))
    return batches


def bleu_of(
    run: System,
    sources: Sequence[Ids],
    references: Sequence[str],
    subwords: SubwordModel,
    size: int,
) -> float:
    """Returns a system's BLEU; it gets batches of so many sentences."""
    # Sentences of like length side by side.
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    hypotheses = [""] * len(order)
    for start in range(0, len(order), size):
        places = order[start : start + size]
        ids = run(Batch([sources[i] for i in places], None))
        texts = subwords.decode([list(map(int, row)) for row in ids])
        for place, text in zip(places, texts, strict=True):
            hypotheses[place] = text
    return sacre_bleu(hypotheses, references).value
