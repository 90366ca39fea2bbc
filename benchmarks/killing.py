"""Processes that are killed at random moments, and what must come out of them."""

import multiprocessing
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from absl import logging

from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import WEIGHTS_FILE
from cmlm_tf.utils.files import sha256_file

#: Forked from a process that only imports: one with TensorFlow's threads can hang.
_CONTEXT = multiprocessing.get_context("forkserver")


class Comparison(NamedTuple):
    """How killed runs came out.

    Attributes:
        runs: those that came to an end.
        largest_difference: of any number in them to that of the undisturbed run.
    """

    runs: int
    largest_difference: float


def kill_and_compare(
    run: Callable[[Any, Path], None],
    config: Any,
    whole: Path,
    read: Callable[[Path], dict[str, Any]],
    kills: int,
    rng: random.Random,
    longest: float,
    tolerance: float = 0.0,
) -> Comparison:
    """Kills a run again and again; compares each that came to its end.

    Args:
        run: maps a config and an output folder to nothing.
        config: its first argument.
        whole: the output folder of an undisturbed run.
        read: maps an output folder to arrays and texts by name.
        kills: how many processes to kill.
        rng: draws the moments.
        longest: seconds after its start in which a process is killed.
        tolerance: most that a number may differ by.

    Raises:
        UserError: something differs, a process failed, or a file was left over.
    """
    expected, runs, killed, largest = read(whole), 0, 0, 0.0
    is_compared = False
    output = whole.with_name(whole.name + "_killed")
    while killed < kills or not is_compared:
        seconds = rng.uniform(0, longest) if killed < kills else None
        if run_until_killed(run, (config, output), seconds):
            killed, is_compared = killed + 1, False
            logging.info("kill %d of %d", killed, kills)
            continue
        difference = compare(expected, read(output), output, tolerance)
        largest = max(largest, difference)
        _find_leftovers(output)
        runs, is_compared = runs + 1, True
        shutil.rmtree(output)
        if killed < kills:
            logging.info("%d kills, run %d differs by %g", killed, runs, difference)
    return Comparison(runs, largest)


def run_until_killed(run: Callable, args: tuple, seconds: float | None) -> bool:
    """Runs a function in its own process; returns whether it had to be killed."""
    process = _CONTEXT.Process(target=run, args=args)
    process.start()
    process.join(seconds)
    process.kill()  # Nothing happens if it has ended.
    process.join()
    if process.exitcode not in (0, -9):
        raise UserError(f"{args[-1]}: a process ended with {process.exitcode}")
    return process.exitcode != 0


def compare(
    expected: dict[str, Any], found: dict[str, Any], output: Path, tolerance: float
) -> float:
    """Returns the largest difference of two runs' numbers.

    Args:
        expected: arrays and texts by name.
        found: the same of another run.
        output: names that run in a message.
        tolerance: most that a number may differ by; with 0 not in one bit.

    Raises:
        UserError: one differs by more, or a text differs.
    """
    if expected.keys() != found.keys():
        raise UserError(f"{output}: other contents")
    largest = 0.0
    for name, value in expected.items():
        value, other = np.asarray(value), np.asarray(found[name])
        if (value.shape, value.dtype) != (other.shape, other.dtype):
            raise UserError(f"{output}: {name} differs")
        if value.tobytes() == other.tobytes():
            continue
        if value.dtype.kind != "f":
            raise UserError(f"{output}: {name} differs")
        difference = float(np.max(np.abs(value - other)))
        if not (tolerance and difference <= tolerance):  # NaN is not.
            raise UserError(f"{output}: {name} differs by {difference:g}")
        largest = max(largest, difference)
    return largest


def _find_leftovers(output: Path) -> None:
    left = [p for p in output.rglob("*") if p.name.startswith(".")]
    if left:
        raise UserError(f"{output}: left over: {', '.join(p.name for p in left)}")


def read_run(output: Path) -> dict[str, Any]:
    """Reads the last checkpoint and the weights of the model directory."""
    with np.load(max((output / "checkpoint").glob("step_*.npz"))) as file:
        arrays = {name: file[name] for name in file.files if name != "meta"}

    def read(name, item):
        if isinstance(item, h5py.Dataset):
            arrays[f"model/{name}"] = item[()]

    with h5py.File(output / "model" / WEIGHTS_FILE) as file:
        file.visititems(read)
    return arrays


def read_files(output: Path) -> dict[str, Any]:
    """Reads the hashes of a distilled corpus."""
    return {path.name: sha256_file(path) for path in output.iterdir()}
