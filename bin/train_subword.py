#!/usr/bin/env python3
"""The same as the command cmlm-train-subword."""

from cmlm_tf.commands.train_subword import run

if __name__ == "__main__":
    run()
