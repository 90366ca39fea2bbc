#!/usr/bin/env python3
"""The same as the command cmlm-train."""

from cmlm_tf.commands.train import run

if __name__ == "__main__":
    run()
