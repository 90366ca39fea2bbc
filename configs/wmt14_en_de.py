"""WMT14 English-German with Transformer base (paper, section 4)."""

import ml_collections

from cmlm_tf.configs import base

# TensorFlow Datasets downloads it when first needed.
_CORPUS = "tfds:wmt14_translate/de-en:{}?source=en&target=de"


def get_config(role: str = "teacher") -> ml_collections.ConfigDict:
    """Returns the config of the teacher or the student."""
    config = base.get_config(role)
    config.model.max_length = 256
    config.data.update(
        train=_CORPUS.format("train"),
        dev=_CORPUS.format("validation"),
        row_lengths=(256,),
        tokens_per_batch=65_536,
    )
    config.training.update(
        max_steps=300_000,
        warmup_steps=10_000,
        ema_decay=0.9995,
        steps_per_execution=1,
        checkpoint_every=2000,
    )
    config.evaluation.update(every=2000, bleu_sentences=1000, patience=20)
    return config
