#!/usr/bin/env python3
"""The same as the command cmlm-beam-decode."""

from cmlm_tf.commands.beam_decode import run

if __name__ == "__main__":
    run()
