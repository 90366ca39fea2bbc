"""Two workers on loopback: equal weights, the loss curve of one process."""

import json
import os
import re
import socket

import numpy as np
import pytest

from tests.commands import start_process
from tests.training import multi_worker_process
from tests.training.small_run import small_config


def free_addresses(count):
    sockets = [socket.create_server(("localhost", 0)) for _ in range(count)]
    addresses = [f"localhost:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    return addresses


def start_workers(config_file, output, count, kill_step=0):
    """Starts the workers, each with its log; only the last of them kills itself."""
    cluster = {"worker": free_addresses(count)}
    for index in range(count):
        task = {"type": "worker", "index": index}
        log = output.with_name(f"{index}.log")
        log.parent.mkdir(exist_ok=True)
        process = start_process(
            multi_worker_process.main,
            *(config_file, output, kill_step if index == count - 1 else 0),
            streams=[os.devnull, os.devnull, log],
            TF_CONFIG=json.dumps({"cluster": cluster, "task": task}),
        )
        yield process, log


def finish(workers):
    """Waits for all; returns their stderr."""
    for worker, _ in workers:
        worker.join(timeout=600)
    texts = [log.read_text() for _, log in workers]
    assert [worker.exitcode for worker, _ in workers] == [0] * len(workers), texts
    return texts


def losses(text):
    """The loss curve, by step and dev set."""
    found = re.findall(r"step (\d+)[^:]*: (?:token_)?loss ([\d.]+)", text)
    return {step: float(loss) for step, loss in found}


def compared(shape):
    """Picks what is compared: of biases of keys and values, those of the values.

    A bias of all keys changes no attention. Its gradient is zero but for rounding,
    which Adam magnifies. The vectors of all weights hold it too, as less than 1 %.
    """
    return slice(16, None) if shape == (32,) else ...


def weights(folder, worker, step=8):
    with np.load(folder / f"worker_{worker}_step_{step}.npz") as file:
        return [file[name] for name in sorted(file.files, key=int)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs one process and two; returns folder, config and their stderr."""
    folder = tmp_path_factory.mktemp("workers")
    config = small_config(folder)
    config.model.dropout = 0.0
    config_file = folder / "config.json"
    config_file.write_text(config.to_json())
    texts = {}
    for name, count in (("one", 1), ("two", 2)):
        output = folder / name / "run"
        texts[name] = finish(list(start_workers(config_file, output, count)))
    return folder, config_file, texts


def test_two_workers_train_as_one_process(runs):
    folder, _, texts = runs
    one = weights(folder / "one", 0)
    two = [weights(folder / "two", worker) for worker in range(2)]
    for a, b, c in zip(one, *two, strict=True):
        np.testing.assert_array_equal(b, c)
        assert np.mean(np.abs(a - b)[compared(a.shape)] > 1e-5) < 0.01
    alone, together = losses(texts["one"][0]), losses(texts["two"][0])
    assert {"4", "8"} <= set(alone)
    assert alone.keys() == together.keys()
    for step, loss in alone.items():
        assert abs(loss - together[step]) < 2e-3


def test_a_killed_worker_rejoins_through_the_checkpoint(runs):
    folder, config_file, _ = runs
    output = folder / "killed" / "run"
    (left, log), (killed, _) = start_workers(config_file, output, 2, kill_step=5)
    killed.join(timeout=600)
    assert killed.exitcode == -9
    left.join(timeout=600)
    assert left.exitcode == 1
    assert "UserError: another worker has stopped" in log.read_text()
    assert (output / "checkpoint" / "step_000000003.npz").exists()
    finish(list(start_workers(config_file, output, 2)))
    expected, found = (weights(folder / name, 0) for name in ("two", "killed"))
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)
