"""The loop over updates, and what happens between them.

Steps count updates since the run began, not since this process started, so that
a resumed run does everything at the same steps.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence

import ml_collections
import tensorflow as tf
from absl import logging

from cmlm_tf.training.dev_set import DevSet
from cmlm_tf.training.interrupts import Interrupts
from cmlm_tf.training.state import Checkpoints, RunState
from cmlm_tf.training.training_log import TrainingLog, listed
from cmlm_tf.training.training_model import TrainingModel


@dataclasses.dataclass
class Loop:
    """Updates, reports, evaluations and checkpoints.

    Attributes:
        training: the model that is trained.
        state: where the run stands.
        log: of reports.
        dev_set: measures the averaged weights.
        save_best_fn: saves the weights as they are when it is called.
        checkpoints: of the run.
        interrupts: looked at after each call of updates.
        config: of the run.
    """

    training: TrainingModel
    state: RunState
    log: TrainingLog
    dev_set: DevSet
    save_best_fn: Callable[[], None]
    checkpoints: Checkpoints
    interrupts: Interrupts
    config: ml_collections.ConfigDict

    def run(self, dataset: tf.data.Dataset, shapes: Sequence[tuple[int, int]]) -> None:
        """Trains to the end of the run.

        Args:
            dataset: of global batches, from the next update's on.
            shapes: of the batches to compile for before the first.

        Raises:
            KeyboardInterrupt: a signal came; a checkpoint is saved.
        """
        with self.interrupts.caught():
            try:
                self._run(dataset, shapes)
            except KeyboardInterrupt:
                self.checkpoints.save()
                logging.info(
                    "stopped after step %d; the same command continues from there",
                    self.state.step,
                )
                raise

    def _run(self, dataset, shapes) -> None:
        every = self.config.training.checkpoint_every
        self._evaluate_if_due()  # What an interrupt prevented.
        if shapes:
            self._compile(dataset.element_spec, shapes)
        batches = iter(self.training.distributed(dataset))
        while not self._is_over():
            self.training.update(batches)
            self.state.step += self.training.updates_per_call
            self.log.after_update()
            self._evaluate_if_due()
            if self.state.step % every == 0 and not self._is_over():
                self.checkpoints.save()
            self.interrupts.check()
        self.checkpoints.save()

    def _is_over(self) -> bool:
        return self.state.is_over(self.config.training.max_steps)

    def _compile(self, spec, shapes) -> None:
        start = time.monotonic()
        self.training.compile_shapes(spec, shapes)
        logging.info(
            "compiled for batches of %s side by side: %.1f s",
            " and ".join(f"{rows} x {length}" for rows, length in shapes),
            time.monotonic() - start,
        )

    def _evaluate_if_due(self) -> None:
        step = self.state.step
        due = step % self.config.evaluation.every == 0 or self._is_over()
        if due and step > self.state.evaluated_step:
            start = time.monotonic()
            with self.training.averaged_weights():
                self._evaluate()
            self.log.pause(time.monotonic() - start)

    def _evaluate(self) -> None:
        """Measures the weights and keeps the best."""
        state, wanted = self.state, self.config.evaluation
        scores = self.dev_set.evaluate(self.training)
        sign = 1.0 if wanted.select_by == "bleu" else -1.0
        if state.record_score(sign * scores[wanted.select_by], wanted.patience):
            self.save_best_fn()
        state.evaluated_step = state.step
        logging.info(
            "step %d, dev set: %s; best at step %d%s",
            state.step,
            listed(scores),
            state.best_step,
            "; no better for too long, stopping" if state.stopped else "",
        )
        self.log.write_scalars("dev", scores)
