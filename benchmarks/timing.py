"""Times systems in turn, so that a drifting machine slows all of them alike."""

import dataclasses
import os
import platform
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Measurement:
    """The times of one system at one batch size.

    Attributes:
        first_seconds: the first run, compilation included.
        seconds: float64 `[rounds]`, the later runs.
        num_sentences: sentences in every run.
        num_tokens: subwords written in a run.
    """

    first_seconds: float
    seconds: np.ndarray
    num_sentences: int
    num_tokens: int

    def row(self, baselines: Mapping[str, "Measurement"]) -> dict[str, Any]:
        """Returns the figures for a table.

        Args:
            baselines: measured in the same rounds; the ratio is their time over
                this time, pair by pair.
        """
        figures: dict[str, Any] = {
            "p50_ms": 1e3 * float(np.median(self.seconds)),
            "p95_ms": 1e3 * float(np.quantile(self.seconds, 0.95)),
            "sentences_per_second": self.num_sentences / float(np.median(self.seconds)),
            "tokens_per_second": self.num_tokens / float(np.median(self.seconds)),
            "first_run_s": self.first_seconds,
        }
        for name, baseline in baselines.items():
            ratios = baseline.seconds / self.seconds
            low, middle, high = np.quantile(ratios, [0.1, 0.5, 0.9])
            figures[f"times {name}"] = [float(middle), float(low), float(high)]
        return figures


def measure_in_turn(
    systems: Mapping[str, Callable[[Any], Sequence[Sequence[int]]]],
    batches: Sequence[Any],
    rounds: int,
) -> dict[str, Measurement]:
    """Runs every system on the same batches, one after the other in each round.

    Args:
        systems: by name; each takes a batch and returns the subwords of each sentence.
        batches: a round takes the next one, from the start again at the end.
        rounds: timed runs of each system.

    Returns:
        The measurement of each system.
    """
    first, written = {}, {}
    for name, run in systems.items():
        start = time.perf_counter()
        run(batches[0])
        first[name] = time.perf_counter() - start
        # Every shape is warm after that.
        written[name] = [sum(map(len, run(batch))) for batch in batches]
    return {
        name: Measurement(
            first[name], seconds, len(batches[0].sources), int(np.mean(written[name]))
        )
        for name, seconds in time_in_turn(systems, batches, rounds).items()
    }


def time_in_turn(
    systems: Mapping[str, Callable[[Any], Any]], batches: Sequence[Any], rounds: int
) -> dict[str, np.ndarray]:
    """Times every system, one after the other in each round, every other round back.

    Args:
        systems: by name; each takes a batch.
        batches: a round takes the next one, from the start again at the end.
        rounds: timed runs of each system.

    Returns:
        By name, float64 `[rounds]`, in seconds.
    """
    seconds = {name: np.zeros(rounds) for name in systems}
    for round_number in range(rounds):
        batch = batches[round_number % len(batches)]
        order = list(systems)
        for name in order if round_number % 2 else order[::-1]:
            start = time.perf_counter()
            systems[name](batch)
            seconds[name][round_number] = time.perf_counter() - start
    return seconds


def line_of(row: Mapping[str, Any]) -> str:
    """Tells a row of figures, its system and its batch size in one line."""
    ratios = ", ".join(
        f"{value[0]:.2f} ({value[1]:.2f} to {value[2]:.2f}) {name}"
        for name, value in row.items()
        if name.startswith("times ")
    )
    return (
        f"{row['batch_size']:4d}  {row['system']:28s} {row['p50_ms']:9.2f} ms  "
        f"p95 {row['p95_ms']:9.2f}  {row['sentences_per_second']:8.1f} sent/s  "
        f"first {row['first_run_s']:6.1f} s  {ratios}"
    )


def device_names() -> list[str]:
    """Returns the names of the GPUs, or else of the processor."""
    gpus = tf.config.list_physical_devices("GPU")
    details = [tf.config.experimental.get_device_details(gpu) for gpu in gpus]
    return [d.get("device_name", "GPU") for d in details] or [_processor()]


def _processor() -> str:
    """Returns the processor's name and its number of cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    names = {line.partition(": ")[2] for line in lines if line.startswith("model name")}
    name = ", ".join(sorted(names)) or platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def describe_machine() -> dict[str, Any]:
    """Returns the devices, and the most memory that was in use so far."""
    gpus = range(len(tf.config.list_physical_devices("GPU")))
    info = tf.config.experimental.get_memory_info
    return {
        "devices": device_names(),
        "tensorflow": tf.__version__,
        "peak_host_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "peak_gpu_bytes": [info(f"GPU:{i}")["peak"] for i in gpus],
    }
