"""A small model for tens of thousands of short sentences, as Multi30k has."""

import ml_collections

from cmlm_tf.configs import base


def get_config(role: str = "teacher") -> ml_collections.ConfigDict:
    """Returns the config of the teacher or the student."""
    config = base.get_config(role)
    config.model.update(
        model_dim=256,
        num_heads=4,
        feed_forward_dim=1024,
        num_encoder_layers=4,
        num_decoder_layers=4,
        dropout=0.3,  # high, as the text is little
    )
    config.data.tokens_per_batch = 8192
    config.training.update(
        max_steps=10_000,
        warmup_steps=2000,
        dtype="float32",
        jit_compile=False,
        steps_per_execution=1,
        checkpoint_every=500,
    )
    config.evaluation.update(
        every=500, bleu_sentences=1000, select_by="bleu", patience=10
    )
    return config
