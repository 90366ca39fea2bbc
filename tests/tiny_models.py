"""Model directories with a real subword model and random weights."""

import functools
import tempfile
from pathlib import Path

from cmlm_tf.data.subwords import SubwordModel, train_subword_model
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.model_dir import save_model
from cmlm_tf.modeling.student import ConditionalMaskedLM
from cmlm_tf.modeling.teacher import AutoregressiveTransformer
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.translator import Translator
from tests.modeling.small import spread_weights

WORDS = (
    "the a small large red green old new cat dog house tree river boat sees finds "
    "likes takes one two three four and or but with under der die das kleine rote "
    "Katze Hund Haus Baum Fluss Boot sieht findet mag nimmt eins zwei drei und oder"
).split()


@functools.cache
def root() -> Path:
    """A folder that lives as long as the process."""
    root.folder = tempfile.TemporaryDirectory()
    return Path(root.folder.name)


@functools.cache
def subword_file() -> Path:
    """A subword model trained on made-up word sequences."""
    path = root() / "tiny.subword.model"
    sentences = [
        " ".join(WORDS[(i * step) % len(WORDS)] for i in range(7))
        for step in range(1, 200)
    ]
    train_subword_model(sentences, path, vocab_size=400)
    return path


@functools.cache
def model_dir(role: str, max_length: int = 24) -> Path:
    """A model directory of a role with random weights."""
    config = TransformerConfig(
        vocab_size=SubwordModel(subword_file()).vocab_size,
        model_dim=16,
        num_heads=2,
        feed_forward_dim=32,
        num_encoder_layers=1,
        num_decoder_layers=1,
        max_length=max_length,
    )
    kind = {"teacher": AutoregressiveTransformer, "student": ConditionalMaskedLM}[role]
    folder = root() / f"{role}_{max_length}"
    model = spread_weights(kind(config), seed=3, spread=3.0)
    save_model(model, folder, subword_file().read_bytes(), "en", "de")
    return folder


@functools.cache
def translator(role: str, max_length: int = 24, **kwargs) -> Translator:
    """The translator of a model directory, which traces each way to decode once."""
    return load_translator(model_dir(role, max_length), **kwargs)
