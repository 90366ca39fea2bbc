"""Translates with the pretrained English-German models and prints the trade-off.

Example:
  python bin/demo.py --output_dir=demo
"""

from collections.abc import Sequence

from absl import flags

from cmlm_tf import cli
from cmlm_tf.demo import run_demo

_OUTPUT_DIR = flags.DEFINE_string("output_dir", "demo", "Folder for table and plot.")


def main(argv: Sequence[str]) -> None:
    """Shows examples and prints the table."""
    del argv
    print(run_demo(_OUTPUT_DIR.value))


if __name__ == "__main__":
    cli.run(main)
