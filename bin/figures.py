#!/usr/bin/env python3
"""The same as the command cmlm-figures."""

from cmlm_tf.commands.figures import run

if __name__ == "__main__":
    run()
