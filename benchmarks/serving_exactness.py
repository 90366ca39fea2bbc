r"""Checks that a SavedModel translates as `cmlm-decode` did, alone and in batches.

Loads it with TensorFlow and tensorflow_text alone: run it as a file, with this
package out of reach, as it imports nothing of it.

Example, for each heuristic:
  cmlm-decode --model_dir=student/model --input=test.en --output=out.de \
      --jsonl=out.jsonl --heuristic=thresh
  python -m benchmarks.serving_exactness EXPORT test.en out.jsonl thresh 1 64
"""

import argparse
import json
import math
import sys
from pathlib import Path

import tensorflow as tf
import tensorflow_text  # noqa: F401  (its ops are in the graph)

_TOLERANCE = 1e-5


def main() -> int:
    """Prints the differences for each batch size; returns 1 if there are any."""
    given = _arguments()
    lines = given.source.read_bytes().split(b"\n")[:-1]
    expected = [json.loads(line) for line in given.decoded.open(encoding="utf-8")]
    translate = tf.saved_model.load(given.export).signatures["serving_default"]
    failed = False
    for size in given.sizes:
        found = []
        for i in range(0, len(lines), size):
            found += _ask(translate, lines[i : i + size], given.heuristic)
        wrong = [i for i, row in enumerate(found) if not is_same(row, expected[i])]
        scores = [abs(f[1] - e["score"]) for f, e in zip(found, expected, strict=True)]
        print(
            f"{given.heuristic}, {len(found)} lines by {size}: {len(wrong)} differ "
            f"{wrong[:10]}, scores by at most {max(scores):.1e}",
            flush=True,
        )
        failed |= bool(wrong)
    return int(failed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("export", help="folder of a version")
    parser.add_argument("source", type=Path, help="source lines")
    parser.add_argument("decoded", type=Path, help="their JSON lines")
    parser.add_argument("heuristic", help="that they were decoded by")
    parser.add_argument("sizes", type=int, nargs="+", help="lines of a request")
    return parser.parse_args()


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
