r"""Checks that C++ without Python translates an export as `cmlm-decode` does.

Builds the tests' program, which loads a SavedModel with the loader that TensorFlow
Serving uses, and compares text, length, iterations and score of every line for every
heuristic with its default setting. Needs g++.

Example:
  python -m benchmarks.serving_cpp --model_dir=student/model --export=served/student/1 \
      --input=test.en --json=serving_cpp.json
"""

import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from absl import flags

from benchmarks.serving_exactness import is_same
from cmlm_tf.commands import cli
from cmlm_tf.data.text_files import read_lines
from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.errors import UserError
from cmlm_tf.utils.json_files import write_json
from tests.serving import cpp_program

_MODEL_DIR = flags.DEFINE_string("model_dir", None, "The student.", required=True)
_EXPORT = flags.DEFINE_string("export", None, "Its export.", required=True)
_INPUT = flags.DEFINE_string("input", None, "Source lines.", required=True)
_SENTENCES = flags.DEFINE_integer("sentences", 500, "The first so many lines.")
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 50, "Lines side by side in C++.")
_JSON = flags.DEFINE_string("json", None, "File for the figures.")

_DECODE = Path(__file__).parent.parent / "bin" / "decode.py"


def main(_) -> None:
    """Compares every heuristic; fails if a line differs."""
    lines = list(itertools.islice(read_lines(_INPUT.value), _SENTENCES.value))
    rows = []
    for heuristic in HEURISTICS:
        expected, found = _decode(lines, heuristic), _in_cpp(lines, heuristic)
        pairs = list(zip(found, expected, strict=True))
        differ = [i + 1 for i, pair in enumerate(pairs) if not is_same(*pair)]
        gap = max(abs(row[1] - record["score"]) for row, record in pairs)
        rows.append({"heuristic": heuristic, "lines": len(lines), "differ": differ})
        rows[-1]["largest_score_gap"] = gap
        print(json.dumps(rows[-1]), flush=True)
    if _JSON.value:
        write_json(_JSON.value, rows)
    if any(row["differ"] for row in rows):
        raise UserError("C++ and cmlm-decode differ")


def _decode(lines: list[str], heuristic: str) -> list[dict]:
    """Returns the records of `cmlm-decode`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, records = folder / "in", folder / "out.jsonl"
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        subprocess.run(
            [sys.executable, _DECODE, f"--model_dir={_MODEL_DIR.value}"]
            + [f"--input={source}", f"--output={folder / 'out'}"]
            + [f"--jsonl={records}", f"--heuristic={heuristic}"],
            check=True,
        )
        return [json.loads(line) for line in read_lines(records)]


def _in_cpp(lines: list[str], heuristic: str) -> list[tuple]:
    """Returns text, score, iterations and length of each line."""
    # A setting of NaN is the heuristic's default.
    asked = [f"{heuristic}\tnan\t{line}" for line in lines]
    size = _BATCH_SIZE.value
    batches = [asked[i : i + size] for i in range(0, len(asked), size)]
    process = cpp_program.run(_EXPORT.value, batches)
    if process.returncode:
        raise UserError(f"C++: {process.stderr.decode()}")
    return [
        (text, score, iterations, length)
        for iterations, length, score, text in cpp_program.rows(process)
    ]


if __name__ == "__main__":
    cli.run(main)
