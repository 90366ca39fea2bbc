#!/usr/bin/env python3
"""The same as the command cmlm-calibrate."""

from cmlm_tf.commands.calibrate import run

if __name__ == "__main__":
    run()
