#!/usr/bin/env python3
"""The same as the command cmlm-demo."""

from cmlm_tf.commands.demo import run

if __name__ == "__main__":
    run()
