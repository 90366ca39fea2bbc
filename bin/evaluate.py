#!/usr/bin/env python3
"""The same as the command cmlm-evaluate."""

from cmlm_tf.commands.evaluate import run

if __name__ == "__main__":
    run()
