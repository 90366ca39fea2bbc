"""Starts the student from the teacher's weights (paper, section 4)."""

import dataclasses
from collections.abc import Iterator

import keras

from cmlm_tf.errors import UserError
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.transformer import Transformer

#: Sizes that no weight of the teacher depends on.
_FREE_SIZES = frozenset({"dropout", "max_length"})


@dataclasses.dataclass(frozen=True)
class InitializationReport:
    """Which weights came from the teacher and which are new.

    Attributes:
        copied: paths of the student's weights set from the teacher's.
        new: paths of the student's weights that the teacher does not have.
    """

    copied: tuple[str, ...]
    new: tuple[str, ...]

    def __str__(self) -> str:
        new = ", ".join(self.new) or "none"
        return f"{len(self.copied)} weights from the teacher; new: {new}"


def initialize_from_teacher(
    student: Transformer, teacher: Transformer
) -> InitializationReport:
    """Copies every weight that both models have under the same name.

    Args:
        student: its corresponding weights are overwritten.
        teacher: a model of the same sizes and vocabulary.

    Returns:
        The report of copied and new weights.

    Raises:
        UserError: where the sizes differ.
    """
    check_sizes(student.config, teacher.config)
    source, target = dict(named_weights(teacher)), dict(named_weights(student))
    copied = tuple(name for name in target if name in source)
    for name in copied:
        target[name].assign(source[name])
    return InitializationReport(copied, tuple(n for n in target if n not in source))


def check_sizes(student: TransformerConfig, teacher: TransformerConfig) -> None:
    """Checks that a student can start from a teacher's weights.

    Raises:
        UserError: where the sizes differ; names the first and both values.
    """
    for name, theirs in dataclasses.asdict(teacher).items():
        own = getattr(student, name)
        if own != theirs and name not in _FREE_SIZES:
            raise UserError(
                f"student and teacher differ in size: model.{name} is {own} in the "
                f"student, {theirs} in the teacher"
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
