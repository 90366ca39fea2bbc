"""What teacher and student minimise: sums over a batch, and what they are means over.

An objective knows nothing of devices and updates: `TrainingModel` divides its
sums by its counts.
"""

import dataclasses
from typing import NamedTuple, Protocol

import tensorflow as tf

from cmlm_tf.modeling.student import ConditionalMaskedLM
from cmlm_tf.modeling.teacher import AutoregressiveTransformer
from cmlm_tf.modeling.transformer import Transformer
from cmlm_tf.special_ids import MASK_ID
from cmlm_tf.training import losses
from cmlm_tf.training.inputs import Batch
from cmlm_tf.training.vocabulary_loss import vocabulary_loss

Scalars = dict[str, tf.Tensor]


class Term(NamedTuple):
    """A mean that is reported, and minimised if its weight is not zero.

    Attributes:
        unit: what it is a mean over, a key of `counts`.
        weight: its weight in the loss.
    """

    unit: str
    weight: float


class Objective(Protocol):
    """What is minimised."""

    @property
    def terms(self) -> dict[str, Term]:
        """The reported means by name."""

    def counts(self, batch: Batch) -> Scalars:
        """Counts a batch's units, and `targets`, the target subwords.

        All are float32 scalars.
        """

    def sums(self, model, batch: Batch, training: bool) -> Scalars:
        """Runs the model and sums each term over the batch: float32 scalars."""


@dataclasses.dataclass(frozen=True)
class TeacherObjective:
    """To predict each target subword from those before it.

    Attributes:
        allowed: bool `[vocab_size]`, True where the model may write the subword.
        label_smoothing: share spread over the allowed vocabulary.
    """

    allowed: tf.Tensor
    label_smoothing: float

    @property
    def terms(self) -> dict[str, Term]:
        """Loss and accuracy are means over all targets, EOS included."""
        return {"token_loss": Term("targets", 1.0), "accuracy": Term("targets", 0.0)}

    def counts(self, batch: Batch) -> Scalars:
        """Counts target subwords, EOS included."""
        return {"targets": losses.count(batch["target_segments"] > 0)}

    def sums(
        self, model: AutoregressiveTransformer, batch: Batch, training: bool
    ) -> Scalars:
        """Sums loss and correct predictions over target subwords."""
        states = model.target_states(batch, training)
        return _token_sums(self, model, states, batch, batch["target_segments"] > 0)


@dataclasses.dataclass(frozen=True)
class StudentObjective:
    """To predict masked targets and target lengths.

    Kreutzer et al. (2020), section 2.

    Attributes:
        allowed: bool `[vocab_size]`, True where the model may write the subword.
        length_loss_weight: of the length loss in the sum.
        label_smoothing: share spread over the allowed vocabulary.
    """

    allowed: tf.Tensor
    length_loss_weight: float
    label_smoothing: float

    @property
    def terms(self) -> dict[str, Term]:
        """Means over masked targets, and over sentences for the length."""
        return {
            "token_loss": Term("masked", 1.0),
            "accuracy": Term("masked", 0.0),
            "length_loss": Term("sentences", self.length_loss_weight),
            "length_accuracy": Term("sentences", 0.0),
        }

    def counts(self, batch: Batch) -> Scalars:
        """Counts masked targets, all targets and sentences."""
        return {
            "masked": losses.count(batch["decoder_ids"] == MASK_ID),
            "sentences": losses.count(losses.sentence_starts(batch)),
            "targets": losses.count(batch["target_segments"] > 0),
        }

    def sums(self, model: ConditionalMaskedLM, batch: Batch, training: bool) -> Scalars:
        """Sums over masked targets, and of the lengths over sentences."""
        masked = batch["decoder_ids"] == MASK_ID
        states, length_logits = model.target_states(batch, training)
        sums = _token_sums(self, model, states, batch, masked)
        return sums | _length_sums(length_logits, batch)


def _token_sums(
    objective: TeacherObjective | StudentObjective,
    model: Transformer,
    states: tf.Tensor,
    batch: Batch,
    wanted: tf.Tensor,
) -> Scalars:
    loss, num_correct = vocabulary_loss(
        states,
        tf.convert_to_tensor(model.embedding.table),
        batch["target_ids"],
        wanted,
        objective.allowed,
        objective.label_smoothing,
    )
    return {"token_loss": loss, "accuracy": num_correct}


def _length_sums(logits: tf.Tensor, batch: Batch) -> Scalars:
    starts = losses.sentence_starts(batch)
    labels = losses.length_labels(batch["source_segments"], batch["target_segments"])
    labels = tf.where(starts, labels, 0)  # Padding's count may be no class.
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    correct = (tf.argmax(logits, axis=-1, output_type=tf.int32) == labels) & starts
    return {
        "length_loss": losses.masked_sum(loss, starts),
        "length_accuracy": losses.count(correct),
    }
