"""A fake model with exact arithmetic: predictions looked up in a table.

A row's content (which ids stand where, padding left out) and the row's source
number add up to a key, in integers; the key and the position choose an entry of
the table. Log-probabilities are small multiples of 1/8, so their sums are exact
in float32 in any order. A row's predictions therefore do not depend on other
rows or on padding, to the last bit.
"""

import random

import numpy as np
import tensorflow as tf

PAD_ID = 0
MASK_ID = 4
FIRST_WORD_ID = 5

_MAX_LENGTH = 64
_NUM_IDS = 40
_NUM_SOURCES = 1024
_TABLE_SIZE = 4099

_random = random.Random(20)
#: How much an id at a position adds to the key.
_KEY_OF_ID = [
    [_random.randrange(_TABLE_SIZE) for _ in range(_NUM_IDS)]
    for _ in range(_MAX_LENGTH)
]
_KEY_OF_SOURCE = [_random.randrange(_TABLE_SIZE) for _ in range(_NUM_SOURCES)]
_IDS = [_random.randrange(FIRST_WORD_ID, _NUM_IDS) for _ in range(_TABLE_SIZE)]
#: Often equal, sometimes certain, now and then next to impossible.
_LOG_PROBS = [
    -_random.choice([0.0, -0.0, 1, 1, 2, 2, 3, 4, 6, 8, 12, 16, 24, 200]) / 8
    for _ in range(_TABLE_SIZE)
]


def predict_row(source, seen):
    """Predicts one row in plain Python.

    Args:
        source: the row's source number.
        seen: the ids, None where masked.

    Returns:
        The predicted ids and log-probabilities, two lists.
    """
    key = _KEY_OF_SOURCE[source] + sum(
        _KEY_OF_ID[i][MASK_ID if token_id is None else token_id]
        for i, token_id in enumerate(seen)
    )
    entries = [(key + 97 * i) % _TABLE_SIZE for i in range(len(seen))]
    return [_IDS[e] for e in entries], [_LOG_PROBS[e] for e in entries]


def make_predict_fn(sources):
    """Makes the `predict_fn` of a batch.

    Args:
        sources: int32 `[rows]`, the rows' source numbers.
    """
    key_of_id = np.array(_KEY_OF_ID, np.int32)
    key_of_id[:, PAD_ID] = 0

    def predict_fn(input_ids, wanted):
        positions = tf.range(tf.shape(input_ids)[1])
        flat = tf.reshape(tf.constant(key_of_id), [-1])
        keys = tf.gather(flat, positions * _NUM_IDS + input_ids)
        row_keys = tf.gather(tf.constant(_KEY_OF_SOURCE), sources)
        row_keys += tf.reduce_sum(keys, axis=1)
        entries = (row_keys[:, tf.newaxis] + 97 * positions) % _TABLE_SIZE
        # What the loop must ignore is made loud.
        ids = tf.where(wanted, tf.gather(tf.constant(_IDS), entries), -7)
        log_probs = tf.gather(tf.constant(_LOG_PROBS), entries)
        return ids, tf.where(wanted, log_probs, 1e6)

    return predict_fn
