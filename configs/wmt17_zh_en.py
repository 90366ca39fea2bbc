"""WMT17 Chinese-English with Transformer base (paper, section 4)."""

import ml_collections

from cmlm_tf.configs import wmt14_en_de

# TensorFlow Datasets downloads it when first needed.
_CORPUS = "tfds:wmt17_translate/zh-en:{}?source=zh&target=en"


def get_config(role: str = "teacher") -> ml_collections.ConfigDict:
    """Returns the config of the teacher or the student."""
    config = wmt14_en_de.get_config(role)
    config.data.update(
        train=_CORPUS.format("train"),
        dev=_CORPUS.format("validation"),
        source_language="zh",
        target_language="en",
    )
    return config
