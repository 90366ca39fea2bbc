"""A model of 15 MB (float16) for hundreds of thousands of pairs, on one GPU."""

import ml_collections

from cmlm_tf.configs import base


def get_config(role: str = "teacher") -> ml_collections.ConfigDict:
    """Returns the config of the teacher or the student."""
    config = base.get_config(role)
    config.model.update(
        model_dim=256,
        num_heads=4,
        feed_forward_dim=1024,
        num_encoder_layers=3,
        num_decoder_layers=3,
    )
    return config
