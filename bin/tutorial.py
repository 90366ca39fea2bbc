#!/usr/bin/env python3
"""The same as the command cmlm-tutorial."""

from cmlm_tf.commands.tutorial import run

if __name__ == "__main__":
    run()
