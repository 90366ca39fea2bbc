#!/usr/bin/env python3
"""The same as the command cmlm-distill."""

from cmlm_tf.commands.distill import run

if __name__ == "__main__":
    run()
