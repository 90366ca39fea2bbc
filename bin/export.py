#!/usr/bin/env python3
"""The same as the command cmlm-export."""

from cmlm_tf.commands.export import run

if __name__ == "__main__":
    run()
