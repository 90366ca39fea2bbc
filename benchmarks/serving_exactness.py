r"""Checks that a SavedModel translates as `bin/decode.py` did, alone and in batches.

Loads it with TensorFlow and tensorflow_text alone: run it as a file, with this
package out of reach, as it imports nothing of it.

Example, for each heuristic:
  python bin/decode.py --model_dir=student --input=test.en --output=out.de \
      --jsonl=out.jsonl --heuristic=thresh
  python benchmarks/serving_exactness.py EXPORT test.en out.jsonl thresh 1 64
"""

import json
import math
import sys
from pathlib import Path

import tensorflow as tf
import tensorflow_text  # noqa: F401  (its ops are in the graph)

_TOLERANCE = 1e-5


def main() -> int:
    """Prints the differences for each batch size; returns 1 if there are any."""
    export, source, decoded, heuristic, *sizes = sys.argv[1:]
    lines = Path(source).read_bytes().split(b"\n")[:-1]
    expected = [json.loads(line) for line in Path(decoded).open(encoding="utf-8")]
    translate = tf.saved_model.load(export).signatures["serving_default"]
    failed = False
    for size in map(int, sizes):
        found = []
        for i in range(0, len(lines), size):
            found += _ask(translate, lines[i : i + size], heuristic)
        wrong = [i for i, row in enumerate(found) if not is_same(row, expected[i])]
        scores = [abs(f[1] - e["score"]) for f, e in zip(found, expected, strict=True)]
        print(
            f"{heuristic}, {len(found)} lines by {size}: {len(wrong)} differ "
            f"{wrong[:10]}, scores by at most {max(scores):.1e}",
            flush=True,
        )
        failed |= bool(wrong)
    return int(failed)


def _ask(translate, lines, heuristic):
    outputs = translate(
        text=tf.constant(lines),
        heuristic=tf.constant([heuristic]),
        setting=tf.constant([math.nan]),
        target_speedup=tf.constant([math.nan]),
        length_beam=tf.constant([5]),
        max_iterations=tf.constant([1_000_000]),
    )
    names = ("translation", "score", "iterations", "length")
    rows = zip(*(outputs[name].numpy() for name in names), strict=True)
    return [(text.decode(), *figures) for text, *figures in rows]


def is_same(row, record) -> bool:
    """Tells whether text, score, iterations and length are those of a JSON line."""
    text, score, iterations, length = row
    return (
        text == record["text"]
        and iterations == record["iterations"]
        and length == record["num_tokens"]
        and abs(score - record["score"]) <= _TOLERANCE
    )


if __name__ == "__main__":
    sys.exit(main())
