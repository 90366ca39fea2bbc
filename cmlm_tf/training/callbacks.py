"""What happens between updates: reports, evaluation, checkpoints, interrupts.

All count updates since the run began, not since this process started, so that
a resumed run does everything at the same steps.
"""

import contextlib
import math
import os
import signal
import time
from collections.abc import Callable, Iterator

import keras
import ml_collections
import tensorflow as tf
from absl import logging

from cmlm_tf.errors import UserError
from cmlm_tf.training.matrix_rate import MatrixRate
from cmlm_tf.training.state import Checkpoints, RunState

_INTERRUPTED = 130

# What `tf.summary.scalar` would write, for which TensorBoard must be installed.
_SCALAR = tf.compat.v1.SummaryMetadata()
_SCALAR.plugin_data.plugin_name = "scalars"


class StepCounter(keras.callbacks.Callback):
    """Counts updates in the run's state; must come first."""

    def __init__(self, state: RunState):
        """Goes on from `state.step`."""
        super().__init__()
        self._state = state
        self._start = state.step

    def on_train_batch_end(self, batch, logs=None):
        """Counts all updates of one execution; `batch` is the last one's index."""
        self._state.step = self._start + batch + 1


class Interrupts:
    """Turns Ctrl-C and SIGTERM into a stop at the next good moment.

    A second signal ends the process at once.
    """

    def __init__(self):
        """Starts without a request."""
        self._requested = False

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """Catches both signals inside the `with` block."""
        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self._request) for number in signals]
        try:
            yield
        finally:
            for number, handler in zip(signals, before, strict=True):
                signal.signal(number, handler)

    def _request(self, number, frame):
        if self._requested:
            os._exit(_INTERRUPTED)
        self._requested = True

    def check(self) -> None:
        """Raises KeyboardInterrupt if a signal came."""
        if self._requested:
            raise KeyboardInterrupt


class InterruptCheck(keras.callbacks.Callback):
    """Looks for a signal after each training and evaluation batch."""

    def __init__(self, interrupts: Interrupts):
        """Watches `interrupts`."""
        super().__init__()
        self._interrupts = interrupts

    def on_train_batch_end(self, batch, logs=None):
        """Stops between two updates."""
        self._interrupts.check()

    def on_test_batch_end(self, batch, logs=None):
        """Stops between two dev batches."""
        self._interrupts.check()


class TrainingLog(keras.callbacks.Callback):
    """Reports loss, rates and time left; stops a run that has gone wrong."""

    def __init__(
        self,
        state: RunState,
        writer: tf.summary.SummaryWriter,
        cadence: ml_collections.ConfigDict,
        highest_loss: float,
        matrix_rate: MatrixRate,
    ):
        """Sets the cadence.

        Args:
            state: the run's state.
            writer: of TensorBoard scalars.
            cadence: `config.training`: updates between reports, and in all.
            highest_loss: a mean loss above it ends the run.
            matrix_rate: what the device could do.
        """
        super().__init__()
        self._state, self._writer, self._matrix_rate = state, writer, matrix_rate
        self._log_every, self._max_steps = cadence.log_every, cadence.max_steps
        self._highest_loss = highest_loss

    def on_train_begin(self, logs=None):
        """Starts the clock of the first update."""
        self._first = True
        self._reset()

    def _reset(self):
        self._reported_step, self._start = self._state.step, time.monotonic()
        self.model.reset_metrics()

    def on_train_batch_end(self, batch, logs=None):
        """Reports if due."""
        if self._first:
            self._report_first()
        elif self._state.step % self._log_every == 0:
            self._report(self.model.means())
            self._reset()

    def _report_first(self):
        """Reports how long tracing and compiling took, and leaves it out of rates."""
        self._check(self.model.means())
        seconds = time.monotonic() - self._start
        logging.info(
            "first update, with compilation: %.1f s; large products: %.4g TFLOP/s",
            seconds,
            self._matrix_rate.measured / 1e12,
        )
        self._first = False
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

    def _report(self, means: dict[str, float]):
        self._check(means)
        step = self._state.step
        steps_per_second = (step - self._reported_step) / max(
            time.monotonic() - self._start, 1e-9
        )
        means["tokens_per_second"] = means.pop("targets_per_step") * steps_per_second
        means["share_of_matrix_rate"] = self._matrix_rate.share(steps_per_second)
        means["learning_rate"] = float(self.model.optimizer.learning_rate)
        logging.info(
            "step %d of %d: %s, %s left",
            step,
            self._max_steps,
            ", ".join(f"{name} {value:.4g}" for name, value in means.items()),
            _duration((self._max_steps - step) / steps_per_second),
        )
        self.write_scalars("train", means)

    def _check(self, means: dict[str, float]):
        loss = self.model.objective(means)
        if math.isfinite(loss) and loss <= self._highest_loss:
            return
        cause = "is not finite" if not math.isfinite(loss) else "has run away"
        raise UserError(
            f"the loss {cause} ({loss:.4g}) between steps {self._reported_step + 1} "
            f"and {self._state.step}; the last good weights are kept. Try a lower "
            "config.training.learning_rate_scale or more warmup_steps"
        )


class DevEvaluation(keras.callbacks.Callback):
    """Measures the averaged weights on the dev set and keeps the best."""

    def __init__(
        self,
        state: RunState,
        evaluate_fn: Callable[[], dict[str, float]],
        save_best_fn: Callable[[], None],
        log: TrainingLog,
        *,
        every: int,
        max_steps: int,
        select_by: str,
        patience: int,
    ):
        """Sets what is measured and when.

        Args:
            state: the run's state.
            evaluate_fn: returns scores by name, `token_loss` and perhaps `bleu`
                among them, of the weights as they are when it is called.
            save_best_fn: saves the weights as they are when it is called.
            log: is told how long an evaluation took, and its scores.
            every: updates between evaluations; the last update has one too.
            max_steps: updates in all.
            select_by: the score that decides, `token_loss` or `bleu`.
            patience: evaluations to wait for a better score; 0 waits forever.
        """
        super().__init__()
        self._state, self._log = state, log
        self._evaluate_fn, self._save_best_fn = evaluate_fn, save_best_fn
        self._every, self._max_steps = every, max_steps
        self._select_by, self._patience = select_by, patience

    def on_train_begin(self, logs=None):
        """Makes up for an evaluation that an interrupt prevented."""
        self._evaluate_if_due()

    def on_train_batch_end(self, batch, logs=None):
        """Evaluates if due."""
        self._evaluate_if_due()

    def _evaluate_if_due(self):
        state = self._state
        due = state.step % self._every == 0 or state.step == self._max_steps
        if due and state.step > state.evaluated_step:
            start = time.monotonic()
            with self.model.averaged_weights():
                self._evaluate()
            self._log.pause(time.monotonic() - start)
        self.model.stop_training = state.stopped

    def _evaluate(self):
        state = self._state
        scores = self._evaluate_fn()
        score = scores[self._select_by]
        if self._select_by != "bleu":
            score = -score
        if state.record_score(score, self._patience):
            self._save_best_fn()
        state.evaluated_step = state.step
        logging.info(
            "step %d, dev set: %s; best at step %d%s",
            state.step,
            ", ".join(f"{name} {value:.4g}" for name, value in scores.items()),
            state.best_step,
            "; no better for too long, stopping" if state.stopped else "",
        )
        self._log.write_scalars("dev", scores)


class CheckpointSaver(keras.callbacks.Callback):
    """Saves a checkpoint on schedule and at the end; must come last."""

    def __init__(
        self, checkpoints: Checkpoints, state: RunState, every: int, max_steps: int
    ):
        """Saves every `every` updates, and when the run ends."""
        super().__init__()
        self._checkpoints, self._state = checkpoints, state
        self._every, self._max_steps = every, max_steps

    def on_train_batch_end(self, batch, logs=None):
        """Saves if due."""
        step = self._state.step
        if step % self._every == 0 or step == self._max_steps or self._state.stopped:
            self._checkpoints.save()


def _duration(seconds: float) -> str:
    """Writes a time in hours, minutes and seconds.

    >>> _duration(3725.4), _duration(59.0)
    ('1:02:05', '0:00:59')
    """
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
