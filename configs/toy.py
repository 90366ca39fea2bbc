"""A tiny model of examples/toy_corpus.py: minutes on two cores."""

import ml_collections

from cmlm_tf.configs import base


def get_config(role: str = "teacher") -> ml_collections.ConfigDict:
    """Returns the config of the teacher or the student."""
    config = base.get_config(role)
    config.model.update(
        model_dim=128,
        num_heads=4,
        feed_forward_dim=256,
        num_encoder_layers=2,
        num_decoder_layers=2,
        dropout=0.0,  # the run is short
        max_length=64,
    )
    config.data.update(row_lengths=(64,), tokens_per_batch=1024)
    config.training.update(
        max_steps=1000,
        warmup_steps=200,
        ema_decay=0.99,
        dtype="float32",
        jit_compile=False,
        steps_per_execution=1,
        log_every=100,
        checkpoint_every=400,
    )
    config.evaluation.update(every=500, bleu_sentences=200, select_by="bleu")
    if role == "student":
        config.training.max_steps = 3000
        config.evaluation.update(every=1000, length_beam=3)
    return config
