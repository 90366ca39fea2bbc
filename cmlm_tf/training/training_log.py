"""What a run reports: lines, and scalars for TensorBoard."""

import datetime
import math
import time

import ml_collections
import tensorflow as tf
from absl import logging

from cmlm_tf.errors import UserError
from cmlm_tf.training.matrix_rate import MatrixRate
from cmlm_tf.training.state import RunState
from cmlm_tf.training.training_model import TrainingModel

#: A mean loss this many times that of a uniform guess has run away.
_RUNAWAY = 3.0

# What `tf.summary.scalar` would write, for which TensorBoard must be installed.
_SCALAR = tf.compat.v1.SummaryMetadata()
_SCALAR.plugin_data.plugin_name = "scalars"


class TrainingLog:
    """Reports loss, rates and time left; stops a run that has gone wrong."""

    def __init__(
        self,
        training: TrainingModel,
        state: RunState,
        writer: tf.summary.SummaryWriter,
        cadence: ml_collections.ConfigDict,
        matrix_rate: MatrixRate,
    ):
        """Starts the clock of the first update.

        Args:
            training: what is trained.
            state: the run's.
            writer: of TensorBoard scalars.
            cadence: `config.training`: updates between reports, and in all.
            matrix_rate: what the device could do.
        """
        self._training, self._state, self._writer = training, state, writer
        self._log_every, self._max_steps = cadence.log_every, cadence.max_steps
        self._matrix_rate = matrix_rate
        self._highest_loss = _RUNAWAY * math.log(training.model.config.vocab_size)
        self._is_first = True
        self._reset()

    def _reset(self) -> None:
        self._reported_step, self._start = self._state.step, time.monotonic()
        self._training.reset()

    def after_update(self) -> None:
        """Reports if due.

        Raises:
            UserError: the loss is not finite or has run away.
        """
        if self._is_first:
            self._report_first()
        elif self._state.step % self._log_every == 0:
            self._report()
        else:
            return
        self._reset()

    def pause(self, seconds: float) -> None:
        """Leaves time spent on something else out of the rates."""
        self._start += seconds

    def write_scalars(self, prefix: str, values: dict[str, float]) -> None:
        """Writes TensorBoard scalars `prefix/name` of the current step."""
        with self._writer.as_default(step=self._state.step):
            for name, value in values.items():
                tf.summary.write(
                    f"{prefix}/{name}", tf.constant(value), metadata=_SCALAR
                )

    def _report_first(self) -> None:
        """Reports how long tracing and compiling took, and leaves it out of rates."""
        self._check(self._training.measured())
        logging.info(
            "first update, with compilation: %.1f s; large products: %.4g TFLOP/s",
            time.monotonic() - self._start,
            self._matrix_rate.measured / 1e12,
        )
        self._is_first = False

    def _report(self) -> None:
        figures = self._training.measured()
        self._check(figures)
        seconds = max(time.monotonic() - self._start, 1e-9)
        step = self._state.step
        rate = (step - self._reported_step) / seconds
        figures["tokens_per_second"] = figures.pop("targets") / seconds
        figures["share_of_matrix_rate"] = self._matrix_rate.share(rate)
        figures["learning_rate"] = self._training.optimizer.learning_rate
        left = datetime.timedelta(seconds=round((self._max_steps - step) / rate))
        logging.info(
            "step %d of %d: %s, %s left", step, self._max_steps, listed(figures), left
        )
        self.write_scalars("train", figures)

    def _check(self, means: dict[str, float]) -> None:
        loss = self._training.loss(means)
        if math.isfinite(loss) and loss <= self._highest_loss:
            return
        cause = "is not finite" if not math.isfinite(loss) else "has run away"
        raise UserError(
            f"the loss {cause} ({loss:.4g}) between steps {self._reported_step + 1} "
            f"and {self._state.step}; the last good weights are kept. Try a lower "
            "config.training.learning_rate_scale or more warmup_steps"
        )


def listed(figures: dict[str, float]) -> str:
    """Lists names and numbers in a line.

    >>> listed({"loss": 2.34567, "bleu": 30})
    'loss 2.346, bleu 30'
    """
    return ", ".join(f"{name} {value:.4g}" for name, value in figures.items())
