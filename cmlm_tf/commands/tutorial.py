"""Runs the whole pipeline on the embedded grammar and prints the trade-off table.

Example:
  python bin/tutorial.py --output_dir=tutorial
"""

import functools
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.commands.tutorial_run import run_tutorial

_OUTPUT_DIR = flags.DEFINE_string("output_dir", "tutorial", "Folder for all results.")


def main(argv: Sequence[str]) -> None:
    """Trains, decodes and prints the table."""
    del argv
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    get_config = importlib.import_module("configs.grammar").get_config
    table = run_tutorial(
        get_config("teacher"), get_config("student"), _OUTPUT_DIR.value
    )
    print(table)


run = functools.partial(cli.run, main)
