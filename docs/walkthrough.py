"""Runs the commands of docs/walkthrough.md in an own folder.

Examples:
  python docs/walkthrough.py --folder=wmt14
  python docs/walkthrough.py --folder=/tmp/small --small
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from absl import app, flags

ROOT = Path(__file__).resolve().parent.parent
_FOLDER = flags.DEFINE_string("folder", None, "Where to run.", required=True)
_SMALL = flags.DEFINE_bool("small", False, "Run on a toy corpus, in minutes.")

_SMALL_MODEL = (
    "--config.model.model_dim=32 --config.model.feed_forward_dim=64 "
    "--config.model.num_encoder_layers=1 --config.model.num_decoder_layers=1 "
    "--config.data.tokens_per_batch=512 --config.evaluation.bleu_sentences=8 "
    "--config.evaluation.every=20 --config.training.max_steps=20"
)
#: In place of the first block. A student of so few updates is slow.
_SMALL_SETTINGS = f"""
python {ROOT}/examples/toy_corpus.py --output_dir=. --train_pairs=400 --other_pairs=40
TRAIN=files:train.en,train.de
DEV=files:dev.en,dev.de
CONFIG=toy
VOCAB_SIZE=600
TEST_SOURCE=few.en
TEST_REFERENCE=few.de
head -n 2 test.en >few.en
head -n 2 test.de >few.de
TEST_SENTENCE='The child reads a book.'
SPEEDS=0.5
OTHER_TEACHER='{_SMALL_MODEL}'
OTHER_STUDENT='{_SMALL_MODEL}'
"""


def script(text: str, small: bool) -> str:
    """Returns the bash blocks of a document as one script."""
    settings, *blocks = re.findall(r"^```bash\n(.*?)^```", text, re.M | re.S)
    first = _SMALL_SETTINGS if small else settings
    return "\n".join(["set -euxo pipefail", first, *blocks])


def main(_) -> None:
    """Runs the blocks."""
    folder = Path(_FOLDER.value)
    folder.mkdir(parents=True, exist_ok=True)
    text = (ROOT / "docs" / "walkthrough.md").read_text(encoding="utf-8")
    paths = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-c", script(text, _SMALL.value)]
    environment = os.environ | {"PATH": paths}
    sys.exit(subprocess.run(command, cwd=folder, env=environment).returncode)


if __name__ == "__main__":
    app.run(main)
