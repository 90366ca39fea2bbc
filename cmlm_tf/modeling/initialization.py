"""Starts a model from another's weights: a student from its teacher's (section 4)."""

import dataclasses
from collections.abc import Iterator

import keras

from cmlm_tf.errors import UserError
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.transformer import Transformer

#: Sizes that no weight that is copied depends on.
_FREE_SIZES = frozenset({"dropout", "max_length"})


def initialize_from(model: Transformer, initial: Transformer) -> str:
    """Copies every weight to `model` that `initial` has under the same name.

    Returns:
        How many were copied, and the names of those that only `model` has.

    Raises:
        UserError: where the sizes differ.
    """
    check_sizes(model.config, initial.config)
    source, target = dict(named_weights(initial)), dict(named_weights(model))
    copied = target.keys() & source.keys()
    for name in copied:
        target[name].assign(source[name])
    new = ", ".join(name for name in target if name not in source)
    return f"{len(copied)} weights copied; new: {new or 'none'}"


def check_sizes(sizes: TransformerConfig, initial: TransformerConfig) -> None:
    """Checks that a model of some sizes can start from the weights of another.

    Raises:
        UserError: where the sizes differ; names the first and both values.
    """
    for name, theirs in dataclasses.asdict(initial).items():
        own = getattr(sizes, name)
        if own != theirs and name not in _FREE_SIZES:
            raise UserError(
                f"the models differ in size: model.{name} is {own} here, {theirs} in "
                "the one to start from"
            )


def named_weights(
    layer: keras.layers.Layer, prefix: str = ""
) -> Iterator[tuple[str, keras.Variable]]:
    """Yields weights under their attribute path, `decoder/layers/0/...`.

    Keras's own paths count layers over the whole process; these name a weight
    the same in every model that has it.
    """
    held = list(layer._layers)
    names = {
        id(item): f"{name}/{index}" if isinstance(value, list) else name
        for name, value in vars(layer).items()
        for index, item in enumerate(value if isinstance(value, list) else [value])
    }
    for weight in layer.weights:
        if not any(weight is inner for child in held for inner in child.weights):
            yield f"{prefix}{weight.name}", weight
    for child in held:
        yield from named_weights(child, f"{prefix}{names[id(child)]}/")
