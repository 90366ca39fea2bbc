"""Packing of sentence pairs into rows of fixed length, by their lengths alone."""

import dataclasses
from collections.abc import Iterator

import numpy as np


@dataclasses.dataclass(frozen=True)
class Packing:
    """Rows of slots; a slot takes any sentence pair of its length class.

    Attributes:
        slot_classes: int `[num_slots]`, length class of each slot, row by row.
        row_offsets: int64 `[num_rows + 1]`; row i has the slots
            `row_offsets[i]` to `row_offsets[i + 1]`.
    """

    slot_classes: np.ndarray
    row_offsets: np.ndarray

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.row_offsets) - 1


def pack(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    counts: np.ndarray,
    row_length: int,
) -> Packing:
    """Packs sentence pairs so that both sides of every row fit its length.

    Rows are filled from the longest pair down, each with the longest pair that
    still fits (first fit decreasing). What one row takes is taken as often as
    the counts allow, so the work depends on the number of different lengths,
    not on the number of sentences.

    Args:
        source_lengths: int `[classes]`, source length of each length class, 1
            to `row_length`.
        target_lengths: int `[classes]`, its target length, likewise.
        counts: int `[classes]`, pairs of that class, 1 or more.
        row_length: tokens of a row on either side.

    Returns:
        Rows with exactly `counts[c]` slots of each class c.

    >>> packing = pack(np.array([6, 3]), np.array([5, 4]), np.array([2, 3]), 10)
    >>> packing.slot_classes.tolist(), packing.row_offsets.tolist()
    ([0, 1, 0, 1, 1], [0, 2, 4, 5])
    """
    patterns, repeats = [], []
    for pattern, times in _patterns(source_lengths, target_lengths, counts, row_length):
        patterns.append(np.tile(pattern, times))
        repeats.append((len(pattern), times))
    slots_per_row = np.repeat(*np.array(repeats, np.int64).T)
    row_offsets = np.concatenate([[0], np.cumsum(slots_per_row)])
    return Packing(np.concatenate(patterns), row_offsets)


def _patterns(
    source: np.ndarray, target: np.ndarray, counts: np.ndarray, row_length: int
) -> Iterator[tuple[list[int], int]]:
    """Yields the classes of a row, longest first, and how many such rows to make."""
    order = np.argsort(-(source + target), kind="stable")
    source, target, left = source[order], target[order], counts[order].copy()
    while left.any():
        row, free_source, free_target = [], row_length, row_length
        unused = left.copy()
        while True:
            fits = (unused > 0) & (source <= free_source) & (target <= free_target)
            best = int(fits.argmax())
            if not fits[best]:
                break
            row.append(best)
            unused[best] -= 1
            free_source -= source[best]
            free_target -= target[best]
        taken = left - unused
        times = int((left[row] // taken[row]).min())
        left -= times * taken
        yield order[row].tolist(), times
