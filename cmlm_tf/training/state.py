"""All that a run must remember to go on as if it had not stopped."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
from absl import logging

from cmlm_tf.errors import UserError
from cmlm_tf.utils.files import atomic_write, errors_named, remove_leftovers

_KEPT = 2
_META = "meta"
_FORMAT = "the format of checkpoints"


@dataclasses.dataclass
class RunState:
    """Where a run stands.

    Attributes:
        step: updates done.
        evaluated_step: the last step whose evaluation is done.
        best_score: the best dev score so far, higher is better.
        best_step: where it was reached.
        evaluations_since_best: evaluations since then.
        stopped: whether the run ended early, for want of improvement.
    """

    step: int = 0
    evaluated_step: int = 0
    best_score: float | None = None
    best_step: int = 0
    evaluations_since_best: int = 0
    stopped: bool = False

    def is_over(self, max_steps: int) -> bool:
        """Returns whether the run has ended, at `max_steps` or before."""
        return self.stopped or self.step >= max_steps

    def record_score(self, score: float, patience: int) -> bool:
        """Takes a dev score; stops the run after `patience` without a better one.

        Args:
            score: of the evaluation at `step`, higher is better.
            patience: evaluations to wait for a better score; 0 waits forever.

        Returns:
            Whether it is the best so far; of equal ones the last is, which has learnt
            more: in a training's beginning BLEU is 0.

        >>> state = RunState(step=10)
        >>> [state.record_score(score, 2) for score in (0.0, 0.0, 3.0, 2.0, 2.5)]
        [True, True, True, False, False]
        >>> state.stopped
        True
        """
        if self.best_score is None or score >= self.best_score:
            self.best_score, self.best_step = score, self.step
            self.evaluations_since_best = 0
            return True
        self.evaluations_since_best += 1
        self.stopped = 0 < patience <= self.evaluations_since_best
        return False


class Checkpoints:
    """Saves and restores a run: variables, `RunState` and what it was run on.

    A checkpoint is one file, written to a temporary name and renamed, so that
    it is whole or not there; the two newest are kept. `.weights.h5` files hold
    no random states, without which dropout would differ after a restart.
    """

    def __init__(
        self,
        directory: Path,
        variables: list[keras.Variable],
        state: RunState,
        identity: dict[str, Any],
        writes: bool = True,
    ):
        """Names what belongs to the run.

        Args:
            directory: where checkpoints lie.
            variables: of model and optimizer, random states included, in the same
                order in every run of a config.
            state: saved, and changed in place by `restore`.
            identity: JSON values by name, what the run's result depends on; a
                checkpoint with other values is another run's.
            writes: False in all workers but one.
        """
        self._directory = directory
        self._variables = variables
        self._state = state
        self._identity = json.loads(json.dumps(identity | {_FORMAT: 2}))
        self._writes = writes

    def save(self) -> None:
        """Writes a checkpoint and deletes old ones.

        Raises:
            UserError: a weight is not finite, or the disk is full. Earlier
                checkpoints stay.
        """
        arrays: dict[str, Any] = {
            str(i): np.asarray(v) for i, v in enumerate(self._variables)
        }
        if not all(np.isfinite(array).all() for array in arrays.values()):
            kept = f"; the last good checkpoint is kept in {self._directory}"
            raise UserError(
                f"a weight is not finite at step {self._state.step}"
                + (kept if self._paths() else "")
            )
        if not self._writes:
            return
        meta = {"identity": self._identity, "state": dataclasses.asdict(self._state)}
        path = self._directory / f"step_{self._state.step:09d}.npz"
        remove_leftovers(path)
        with errors_named(path), atomic_write(path) as temporary:
            np.savez(temporary, **arrays | {_META: json.dumps(meta)})
        for old in self._paths()[_KEPT:]:
            old.unlink()

    def restore(self) -> bool:
        """Restores the newest checkpoint that can be read.

        Returns:
            Whether there was one.

        Raises:
            UserError: it belongs to another run, with the name of what
                differs; or there are checkpoints, but all are damaged.
        """
        paths = self._paths()
        for path in paths:
            try:
                meta, arrays = self._read(path)
            except Exception as error:  # A damaged archive can raise anything.
                logging.warning("%s is damaged and left out: %s", path, error)
                continue
            self._check_identity(meta["identity"])
            for variable, array in zip(self._variables, arrays, strict=True):
                variable.assign(array)
            for name, value in meta["state"].items():
                setattr(self._state, name, value)
            return True
        if paths:
            raise UserError(f"{self._directory}: no checkpoint can be read")
        return False

    def _paths(self) -> list[Path]:
        """Returns all checkpoints, the newest first."""
        paths = self._directory.glob("step_*.npz")
        by_step = {path.stem.removeprefix("step_"): path for path in paths}
        steps = sorted(filter(str.isdigit, by_step), key=int, reverse=True)
        return [by_step[step] for step in steps]

    def _read(self, path: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
        with np.load(path, allow_pickle=False) as file:
            meta = json.loads(str(file[_META]))
            return meta, [file[str(i)] for i in range(len(file.files) - 1)]

    def _check_identity(self, saved: dict[str, Any]) -> None:
        for name in sorted(saved.keys() | self._identity.keys()):
            before, now = saved.get(name), self._identity.get(name)
            if before != now:
                raise UserError(
                    f"{name} was {before!r} when the run in "
                    f"{self._directory.parent} began and is {now!r} now; use "
                    "another output folder, or the old value"
                )
