"""Tiny models and batches with random weights for the tests."""

import numpy as np
import tensorflow as tf

from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.student import ConditionalMaskedLM
from cmlm_tf.modeling.teacher import AutoregressiveTransformer

CONFIG = TransformerConfig(
    vocab_size=48,
    model_dim=16,
    num_heads=2,
    feed_forward_dim=32,
    num_encoder_layers=2,
    num_decoder_layers=2,
    dropout=0.1,
    max_length=24,
)
FIRST_WORD = 5


def make_teacher(seed=1, spread=3.0):
    """A teacher whose random weights are spread so that outputs vary."""
    return spread_weights(AutoregressiveTransformer(CONFIG), seed, spread)


def make_student(seed=1, spread=3.0):
    """A student whose random weights are spread so that outputs vary."""
    return spread_weights(ConditionalMaskedLM(CONFIG), seed, spread)


def spread_weights(model, seed, spread):
    """Sets every weight to a random value; returns the model."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        scale = spread / np.sqrt(weight.shape[0]) if len(weight.shape) > 1 else 0.1
        center = 1.0 if weight.name == "gamma" else 0.0
        weight.assign(center + rng.normal(scale=scale, size=weight.shape))
    return model


def random_sources(batch, longest, seed=0):
    """int32 `[batch, longest]`: random words, EOS, PAD; the first is longest."""
    rng = np.random.default_rng(seed)
    ids = np.zeros([batch, longest], np.int32)
    for row in range(batch):
        length = longest - 1 if row == 0 else rng.integers(1, longest)
        ids[row, :length] = rng.integers(FIRST_WORD, CONFIG.vocab_size, size=length)
        ids[row, length] = 3
    return ids


def sentence_batch(source_ids, decoder_ids, target_valid):
    """One sentence a row as the dict of tensors that the models take."""

    def positions(ids):
        return np.broadcast_to(np.arange(ids.shape[1], dtype=np.int32), ids.shape)

    arrays = {
        "source_ids": source_ids,
        "source_segments": (source_ids != 0).astype(np.int32),
        "source_positions": positions(source_ids),
        "decoder_ids": decoder_ids,
        "target_segments": target_valid.astype(np.int32),
        "target_positions": positions(decoder_ids),
    }
    return {name: tf.constant(array) for name, array in arrays.items()}
