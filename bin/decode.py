#!/usr/bin/env python3
"""The same as the command cmlm-decode."""

from cmlm_tf.commands.decode import run

if __name__ == "__main__":
    run()
