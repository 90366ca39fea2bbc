"""Random rows for the tests of the loop, and one call that decodes them."""

import itertools
import random

from cmlm_tf.decoding import heuristics, loop, strategies
from tests.decoding import table_model

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
