"""Random rows for the tests of the loop, a call that decodes them, and its check."""

import functools
import itertools
import random

import numpy as np

from cmlm_tf.decoding import heuristics, loop, strategies
from cmlm_tf.translate.graphs import as_arrays
from tests.decoding import oracle, table_model

NUM_ROWS = 240
LENGTH = 13
MAX_ITERATIONS = 9
SETTINGS = {
    "mask_predict": [1, 2, 3, 5, 9, 40],
    "fixed_k": [1, 2, 3, 5, 20],
    "thresh": [0.0, 0.1, 0.5, 0.9, 1.0],
    "comb_thresh": [0.0, 0.002, 0.1, 0.5, 0.9, 1.0],
    "fcomb_thresh": [0.0, 0.002, 0.1, 0.5, 0.9, 1.0],
}
EVERY_COMBINATION = list(
    itertools.product(heuristics.HEURISTICS, strategies.STRATEGIES)
)


def random_rows(heuristic, num_rows=NUM_ROWS, max_length=LENGTH - 2):
    """Draws the lengths, source numbers and settings of the rows."""
    rng = random.Random(heuristic)
    sizes = [max(rng.randint(-1, max_length), 0) for _ in range(num_rows)]
    sources = [rng.randrange(1000) for _ in range(num_rows)]
    return sizes, sources, [rng.choice(SETTINGS[heuristic]) for _ in range(num_rows)]


def unmask(
    heuristic,
    strategy,
    valid,
    sources,
    setting,
    make_predict_fn=table_model.make_predict_fn,
    **options,
):
    """Decodes with the table model; heuristic and strategy go by name."""
    options = {"max_iterations": MAX_ITERATIONS, "trace": True} | options
    of_loop = {"initial_ids", "candidates_per_sentence"} & options.keys()
    of_loop = {name: options.pop(name) for name in of_loop}
    rule = heuristics.HEURISTICS[heuristic](setting)
    strategy = strategies.STRATEGIES[strategy]()
    unmasking = loop.Unmasking(rule, strategy, **options)
    return run(make_predict_fn(sources), valid, unmasking, **of_loop)


def run(predict_fn, valid, unmasking, **kwargs):
    """Calls the loop with the ids of the table model."""
    return loop.iterative_unmask(
        *(predict_fn, valid, unmasking),
        mask_id=table_model.MASK_ID,
        pad_id=table_model.PAD_ID,
        **kwargs,
    )


def assert_equals_oracle(
    result,
    rows,
    heuristic,
    strategy,
    limits=MAX_ITERATIONS,
    given=None,
    predict_row=table_model.predict_row,
    **kwargs,
):
    """Compares every row, padding and trace included, with plain Python.

    Args:
        result: of the loop.
        rows: what `random_rows` returns.
        heuristic: its name, or a list with one a row; likewise `limits`.
        strategy: its name.
        limits: the last pass.
        given: for each row the (position, id) pairs observed from the start.
        predict_row: the model, as `oracle.unmask_row` calls it for a source.
        **kwargs: for `oracle.unmask_row`.
    """
    result = as_arrays(result)
    length = result.token_ids.shape[1]
    each = (
        x if isinstance(x, list) else [x] * len(rows[0]) for x in (heuristic, limits)
    )
    columns = zip(*rows, *each, given or [()] * len(rows[0]), strict=True)
    for row, (size, source, setting, name, limit, pairs) in enumerate(columns):
        states = oracle.unmask_row(
            functools.partial(predict_row, source),
            *(size, name, setting, strategy, limit, pairs),
            **kwargs,
        )
        states = [_padded(*state, length) for state in states]
        assert result.num_iterations[row] == len(states) - 1
        found = result.token_ids[row], result.log_probs[row]
        np.testing.assert_equal(found, states[-1][:2])
        if result.trace is not None:
            last = [states[-1]] * len(result.trace.mask[row])
            found = list(zip(*(field[row] for field in result.trace), strict=True))
            np.testing.assert_equal(found, (states[1:] + last)[: len(found)])


def _padded(ids, log_probs, masked, length):
    missing = length - len(ids)
    return (
        np.array([*ids, *[table_model.PAD_ID] * missing]),
        np.array([*log_probs, *[0.0] * missing], np.float32),
        np.array([i in masked for i in range(length)]),
    )
