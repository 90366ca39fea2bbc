r"""Compares the BLEU of two exports, as of bfloat16 weights with that of float32.

Example:
  python -m benchmarks.serving_bleu --exports=served/student/1,served/student/2 \
      --input=test.en --references=test.de --json=serving_bleu.json
"""

import itertools
import json
import time

import tensorflow as tf
import tensorflow_text  # noqa: F401  (its ops are in the graph)
from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.data.text_files import read_lines
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.bleu import sacre_bleu
from cmlm_tf.utils.json_files import write_json

_EXPORTS = flags.DEFINE_list("exports", None, "Folders of versions.", required=True)
_INPUT = flags.DEFINE_string("input", None, "Source lines.", required=True)
_REFERENCES = flags.DEFINE_string("references", None, "Target lines.", required=True)
_SENTENCES = flags.DEFINE_integer("sentences", 2000, "The first so many lines.")
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 32, "Lines of a request.")
_TOLERANCE = flags.DEFINE_float("tolerance", 0.1, "BLEU by which they may differ.")
_JSON = flags.DEFINE_string("json", None, "File for the figures.")


def main(_) -> None:
    """Prints the BLEU of each export; fails if they differ by more than allowed."""
    sources, references = (
        list(itertools.islice(read_lines(flag.value), _SENTENCES.value))
        for flag in (_INPUT, _REFERENCES)
    )
    rows, outputs = [], []
    for export in _EXPORTS.value:
        start = time.perf_counter()
        outputs.append(_translate(export, sources))
        seconds = time.perf_counter() - start
        score = sacre_bleu(outputs[-1], references)
        same = sum(a == b for a, b in zip(outputs[0], outputs[-1], strict=True))
        row = {"lines": len(sources), "bleu": score.value}
        row |= {"signature": score.signature, "lines_as_first": same}
        rows.append(row | {"seconds": seconds})
        print(json.dumps(rows[-1]), flush=True)
    if _JSON.value:
        write_json(_JSON.value, rows)
    scores = [row["bleu"] for row in rows]
    if max(scores) - min(scores) > _TOLERANCE.value:
        raise UserError(f"BLEU differs by more than {_TOLERANCE.value}: {scores}")


def _translate(export: str, lines: list[str]) -> list[str]:
    translate = tf.saved_model.load(export).signatures["text_only"]
    size = _BATCH_SIZE.value
    batches = (lines[i : i + size] for i in range(0, len(lines), size))
    return [
        text.decode()
        for batch in batches
        for text in translate(text=tf.constant(batch))["translation"].numpy()
    ]


if __name__ == "__main__":
    cli.run(main)
