"""Teacher and student are Keras models: config, `.keras` file, summary."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from cmlm_tf.modeling.layers import dtype_policy
from tests.modeling.small import (
    CONFIG,
    make_student,
    make_teacher,
    random_sources,
    sentence_batch,
)

MAKE = {"teacher": make_teacher, "student": make_student}
ROLES = pytest.mark.parametrize("role", MAKE)


def outputs(model):
    """What a model returns for whole targets, and for the first step or pass."""
    sources = random_sources(2, 6)
    ids = np.full([2, 6], 4, np.int32)
    whole = model(sentence_batch(sources, ids, ids > 0))
    if isinstance(whole, tuple):
        cache, lengths = model.start(tf.constant(sources))
        return *whole, lengths, *tf.nest.flatten(cache)
    cache = model.start(tf.constant(sources), 1, None)
    ancestors = tf.zeros([2, 1, 1], tf.int32)
    step, _ = model.step(tf.constant(ids[:, :1]), 0, ancestors, cache, growing=True)
    return whole, step


@ROLES
def test_a_saved_model_gives_equal_outputs(role, tmp_path):
    model = MAKE[role]()
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert (type(loaded), loaded.config) == (type(model), CONFIG)
    for found, expected in zip(outputs(loaded), outputs(model), strict=True):
        np.testing.assert_array_equal(found, expected)


@ROLES
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_a_config_makes_a_model_of_the_same_shapes(role, dtype):
    with dtype_policy(dtype):
        model = MAKE[role]()
    copy = type(model).from_config(model.get_config())
    assert (copy.config, copy.name) == (model.config, model.name)
    for made, weight in zip(copy.weights, model.weights, strict=True):
        assert (made.shape, made.dtype) == (weight.shape, weight.dtype)
    policies = {layer.dtype_policy.name for layer in copy._flatten_layers()}
    assert policies == {dtype}


@ROLES
def test_the_summary_shows_layers_shapes_and_weights(role, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    model, lines = MAKE[role](), []
    model.summary(line_length=110, print_fn=lambda text, **_: lines.append(text))
    text = "\n".join(lines)
    width, length = CONFIG.model_dim, CONFIG.max_length
    shapes = {"SharedEmbedding": width, "Encoder": width, "Decoder": width}
    if role == "student":
        shapes["LengthPredictor"] = length
    for layer, units in shapes.items():
        count = next(
            x for x in model.layers if type(x).__name__ == layer
        ).count_params()
        (line,) = [line for line in text.splitlines() if f"({layer})" in line]
        assert f"(None, None, {units})" in line
        assert f"{count:,}" in line
    assert f"Total params: {model.count_params():,}" in text
