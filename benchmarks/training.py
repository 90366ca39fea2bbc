r"""Measures training: the update of `cmlm-train` on one batch of random text.

Compilation is counted apart. The floating-point operations of the matrix
products are compared with the rate of one large product on the same device.

Examples:
  python -m benchmarks.training --config=en_de_base:student
  python -m benchmarks.training --config=toy:teacher \
      --vocab_size=1000 --updates=20 --config.data.tokens_per_batch=2048
"""

import json
import time

import ml_collections
import numpy as np
import tensorflow as tf
from absl import flags

from benchmarks.flag_checks import check_writable
from benchmarks.timing import device_names
from cmlm_tf.commands import cli
from cmlm_tf.commands.config_flag import define_config_flag
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.special_ids import EOS_ID
from cmlm_tf.training.building import build
from cmlm_tf.training.config import validate_config
from cmlm_tf.training.distribution import DISTRIBUTIONS, make_strategy
from cmlm_tf.training.inputs import with_decoder_inputs
from cmlm_tf.training.matrix_rate import MatrixRate
from cmlm_tf.training.training_model import TrainingModel
from cmlm_tf.utils.json_files import write_json

_CONFIG = define_config_flag()
_FIRST_ID = 300
_VOCAB_SIZE = flags.DEFINE_integer(
    "vocab_size", 32_000, "Subwords.", lower_bound=_FIRST_ID + 1
)
_MEAN_LENGTH = flags.DEFINE_integer(
    "mean_length", 28, "Subwords of a sentence.", lower_bound=1
)
_UPDATES = flags.DEFINE_integer(
    "updates",
    100,
    "Timed updates, rounded up to whole calls of several.",
    lower_bound=1,
)
_DISTRIBUTE = flags.DEFINE_enum(
    "distribute", "one_device", DISTRIBUTIONS, "Devices that train together."
)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write as well.")

_WARM_UP_CALLS = 2


def main(_) -> None:
    """Prints the figures as JSON."""
    config = _CONFIG.value
    validate_config(config)
    check_writable(_OUTPUT)
    figures = {"devices": device_names(), "config": config.to_dict()}
    strategy = make_strategy(_DISTRIBUTE.value)
    sizes = TransformerConfig(vocab_size=_VOCAB_SIZE.value, **config.model)
    training = build(config, sizes, strategy)
    batch = _random_batch(config)
    figures |= _measure(training, config, batch)
    rate = MatrixRate(config, sizes, strategy.num_replicas_in_sync)
    updates_per_second = figures["updates_per_second"]
    figures["matrix_tflops"] = rate.operations * updates_per_second / 1e12
    figures["measured_peak_tflops"] = rate.measured / 1e12
    figures["share_of_peak"] = rate.share(updates_per_second)
    print(json.dumps(figures, indent=1))
    if _OUTPUT.value:
        write_json(_OUTPUT.value, figures)


def _random_batch(config: ml_collections.ConfigDict) -> dict[str, np.ndarray]:
    """Returns packed rows whose sentences have random lengths and subwords."""
    rng = np.random.default_rng(config.seed)
    length = config.data.row_lengths[0]
    rows = config.data.tokens_per_batch // length
    batch = {}
    for side in ("source", "target"):
        for kind in ("ids", "segments", "positions"):
            batch[f"{side}_{kind}"] = np.zeros([rows, length], np.int32)
    for row in range(rows):
        start, segment = 0, 1
        while start < length:
            size = int(np.clip(rng.gamma(4, _MEAN_LENGTH.value / 4), 2, length))
            size = min(size, length - start)
            place = np.s_[row, start : start + size]
            for side in ("source", "target"):
                ids = rng.integers(_FIRST_ID, _VOCAB_SIZE.value, size)
                if side == "source" or config.role == "teacher":
                    ids[-1] = EOS_ID
                batch[f"{side}_ids"][place] = ids
                batch[f"{side}_segments"][place] = segment
                batch[f"{side}_positions"][place] = np.arange(size)
            start, segment = start + size, segment + 1
    return batch


def _dataset(config, batch) -> tf.data.Dataset:
    dataset = tf.data.Dataset.from_tensors(batch).repeat()
    return with_decoder_inputs(dataset, config.role, config.seed)


def _measure(
    training: TrainingModel,
    config: ml_collections.ConfigDict,
    batch: dict[str, np.ndarray],
) -> dict[str, float]:
    """Times calls; waits for those that warm up, and for the last."""
    updates_per_call = config.training.steps_per_execution
    calls = -(-_UPDATES.value // updates_per_call)
    batches = iter(training.distributed(_dataset(config, batch)))
    times = [time.perf_counter()]
    for _ in range(_WARM_UP_CALLS):
        training.update(batches)
        training.measured()  # waits
        times.append(time.perf_counter())
    for _ in range(calls):
        training.update(batches)
    means = training.measured()
    seconds = time.perf_counter() - times[-1]
    updates = calls * updates_per_call
    targets = int((batch["target_segments"] > 0).sum())
    return {
        "first_call_s": times[1] - times[0],
        "updates_per_second": updates / seconds,
        "target_tokens_per_second": targets * updates / seconds,
        "loss": training.loss(means),
    }


if __name__ == "__main__":
    cli.run(main)
