"""One of several workers, a process that is forked for it."""

import json
import os
import signal

import ml_collections
import numpy as np
from absl import logging

from cmlm_tf.training.state import Checkpoints
from cmlm_tf.training.trainer import train
from cmlm_tf.training.training_model import TrainingModel


def main(config_file, output, kill_step):
    """Trains as the worker that TF_CONFIG names.

    Every checkpoint's variables are also written by each worker, in its own file.

    Args:
        config_file: the config as JSON.
        output: the run's folder.
        kill_step: in which the process kills itself; 0 is none.
    """
    logging.set_verbosity(logging.INFO)
    worker = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    save, update = Checkpoints.save, TrainingModel.update

    def save_everywhere(self):
        save(self)
        arrays = {str(i): np.asarray(v) for i, v in enumerate(self._variables)}
        path = output.with_name(f"worker_{worker}_step_{self._state.step}.npz")
        np.savez(path, **arrays)

    def update_and_die(self, batches):
        update(self, batches)
        if self.optimizer.step == kill_step:
            os.kill(os.getpid(), signal.SIGKILL)

    Checkpoints.save = save_everywhere
    TrainingModel.update = update_and_die
    config = ml_collections.ConfigDict(json.loads(config_file.read_text()))
    train(config, output, "multi_worker")
