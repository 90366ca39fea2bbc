"""Tests of cmlm_tf."""
