#!/usr/bin/env python3
"""The same as the command cmlm-translate."""

from cmlm_tf.commands.translate_client import run

if __name__ == "__main__":
    run()
