"""Rows of several sentences, filled by array operations alone."""

import numpy as np

from cmlm_tf.data.prepared import PreparedCorpus
from cmlm_tf.special_ids import EOS_ID

Batch = dict[str, np.ndarray]


def fill_rows(
    prepared: PreparedCorpus,
    pairs: np.ndarray,
    pairs_per_row: np.ndarray,
    shape: tuple[int, int],
    append_eos: bool,
) -> Batch:
    """Writes sentence pairs side by side into rows.

    Args:
        prepared: where the sentences lie.
        pairs: int `[pairs]`, numbers of the sentence pairs, row by row.
        pairs_per_row: int `[used_rows]`, 1 or more pairs in each row.
        shape: `(rows, row_length)`, `rows` at least `used_rows`.
        append_eos: True ends every target in EOS, as the teacher needs it.

    Returns:
        int32 arrays of that shape, as the module `batching` tells.
    """
    numbers = ranges(np.ones_like(pairs_per_row), pairs_per_row)
    batch = {}
    for side, sentences, end in (
        ("source", prepared.source, False),
        ("target", prepared.target, append_eos),
    ):
        first = sentences.offsets[pairs]
        num_tokens = sentences.offsets[pairs + 1] - first
        lengths = num_tokens + end
        starts = _starts(lengths, pairs_per_row, shape[1])
        used = ranges(starts, lengths)
        ids, segments, positions = np.zeros((3, shape[0] * shape[1]), np.int32)
        ids[ranges(starts, num_tokens)] = sentences.tokens[ranges(first, num_tokens)]
        if end:
            ids[starts + num_tokens] = EOS_ID
        segments[used] = np.repeat(numbers, lengths)
        positions[used] = ranges(np.zeros_like(lengths), lengths)
        batch[f"{side}_ids"] = ids.reshape(shape)
        batch[f"{side}_segments"] = segments.reshape(shape)
        batch[f"{side}_positions"] = positions.reshape(shape)
    return batch


def _starts(
    lengths: np.ndarray, pairs_per_row: np.ndarray, row_length: int
) -> np.ndarray:
    """Returns where each sentence begins in the flat batch."""
    before = np.cumsum(lengths) - lengths
    leaders = np.cumsum(pairs_per_row) - pairs_per_row
    row_starts = np.arange(len(pairs_per_row)) * row_length
    return before + np.repeat(row_starts - before[leaders], pairs_per_row)


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Concatenates the ranges of given starts and lengths.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
