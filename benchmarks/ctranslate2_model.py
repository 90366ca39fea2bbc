"""Converts a teacher to CTranslate2, the engine that practitioners would choose."""

from pathlib import Path

import ctranslate2
import numpy as np

from cmlm_tf.modeling.embedding import sinusoidal_positions
from cmlm_tf.modeling.layers import (
    LAYER_NORM_EPSILON,
    MultiHeadAttention,
)
from cmlm_tf.modeling.teacher import AutoregressiveTransformer
from cmlm_tf.special_ids import BOS_ID, EOS_ID, UNK_ID

#: Added to the logits of banned ids; float16 holds it.
_BANNED = -1e4


def token(subword_id: int) -> str:
    """Returns the string under which CTranslate2 knows a subword id."""
    return f"id{subword_id}"


def subword_id(token: str) -> int:
    """Returns the subword id of such a string."""
    return int(token.removeprefix("id"))


def convert(model: AutoregressiveTransformer, output_dir: Path) -> None:
    """Writes a CTranslate2 model with the same weights.

    Args:
        model: the teacher.
        output_dir: gets the CTranslate2 model; replaced if it is there.
    """
    config = model.config
    spec = ctranslate2.specs.TransformerSpec.from_config(
        (config.num_encoder_layers, config.num_decoder_layers),
        config.num_heads,
        pre_norm=True,
    )
    positions = sinusoidal_positions(config.max_length, config.model_dim)
    table = np.asarray(model.embedding.table)
    for part in (spec.encoder, spec.decoder):
        part.position_encodings.encodings = positions
        part.scale_embeddings = True
    spec.encoder.embeddings[0].weight = table
    spec.decoder.embeddings.weight = table
    spec.decoder.projection.weight = table
    spec.decoder.projection.bias = _bias(model)
    _norm(spec.encoder.layer_norm, model.encoder.norm)
    _norm(spec.decoder.layer_norm, model.decoder.norm)
    for target, layer in zip(spec.encoder.layer, model.encoder.layers, strict=True):
        _self_attention(target.self_attention, layer)
        _feed_forward(target.ffn, layer)
    for target, layer in zip(spec.decoder.layer, model.decoder.layers, strict=True):
        _self_attention(target.self_attention, layer)
        _memory_attention(target.attention, layer)
        _feed_forward(target.ffn, layer)
    _describe(spec, config.vocab_size)
    spec.validate()
    output_dir.mkdir(parents=True, exist_ok=True)
    spec.save(str(output_dir))


def _describe(spec, vocab_size: int) -> None:
    tokens = [token(i) for i in range(vocab_size)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.add_source_eos = True
    spec.config.unk_token = token(UNK_ID)
    spec.config.bos_token = spec.config.decoder_start_token = token(BOS_ID)
    spec.config.eos_token = token(EOS_ID)
    spec.config.layer_norm_epsilon = LAYER_NORM_EPSILON


def _bias(model: AutoregressiveTransformer) -> np.ndarray:
    bias = np.zeros([model.config.vocab_size], np.float32)
    bias[list(model.banned_ids)] = _BANNED
    return bias


def _norm(target, layer) -> None:
    target.gamma, target.beta = np.asarray(layer.gamma), np.asarray(layer.beta)


def _linear(target, *layers) -> None:
    """Sets one linear layer; several are stacked along their outputs."""
    target.weight = np.concatenate([np.asarray(layer.kernel).T for layer in layers])
    target.bias = np.concatenate([np.asarray(layer.bias) for layer in layers])


def _self_attention(target, layer) -> None:
    attention: MultiHeadAttention = layer.self_attention
    _norm(target.layer_norm, layer.self_attention_norm)
    _linear(target.linear[0], attention.query, attention.key_value)
    _linear(target.linear[1], attention.output_projection)


def _memory_attention(target, layer) -> None:
    attention: MultiHeadAttention = layer.memory_attention
    _norm(target.layer_norm, layer.memory_attention_norm)
    _linear(target.linear[0], attention.query)
    _linear(target.linear[1], attention.key_value)
    _linear(target.linear[2], attention.output_projection)


def _feed_forward(target, layer) -> None:
    _norm(target.layer_norm, layer.feed_forward_norm)
    _linear(target.linear_0, layer.feed_forward.inner)
    _linear(target.linear_1, layer.feed_forward.outer)
