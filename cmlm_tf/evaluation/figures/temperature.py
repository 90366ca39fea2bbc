"""Temperature scaling of a trained model (Guo et al., 2017)."""

import contextlib
from collections.abc import Iterator

from cmlm_tf.translate.translator import Translator


@contextlib.contextmanager
def tempered(translator: Translator, temperature: float) -> Iterator[None]:
    """Divides the decoder's logits by a temperature for a while.

    The logits are linear in the output of the last layer norm, so its two weights
    are divided instead; no graph is made anew.

    Args:
        translator: whose model changes.
        temperature: above 1 makes probabilities more even; 1 changes nothing.
    """
    weights = translator.model.decoder.norm.weights
    before = [weight.numpy() for weight in weights]
    try:
        for weight, value in zip(weights, before, strict=True):
            weight.assign(value / temperature)
        translator.refresh()
        yield
    finally:
        for weight, value in zip(weights, before, strict=True):
            weight.assign(value)
        translator.refresh()
