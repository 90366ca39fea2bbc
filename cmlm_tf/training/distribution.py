"""The devices that train together."""

import contextlib
import json
import os
import re
from collections.abc import Iterator, Sequence

import keras
import tensorflow as tf
from absl import logging

from cmlm_tf.errors import UserError
from cmlm_tf.utils.xla_flags import prefer_xla_flag

DISTRIBUTIONS = ("one_device", "mirrored", "multi_worker", "tpu")


def make_strategy(distribution: str) -> tf.distribute.Strategy:
    """Returns the strategy that a name stands for.

    Args:
        distribution: `one_device`; `mirrored`, all local GPUs; `multi_worker`,
            the machines that the variable TF_CONFIG lists; `tpu`.

    Raises:
        UserError: an unknown name, no TPU found, or a TF_CONFIG that is no cluster.
    """
    if distribution == "one_device":
        return tf.distribute.get_strategy()
    if distribution == "mirrored":
        if len(tf.config.list_physical_devices("GPU")) > 1:
            # To make CUDA graphs ready takes time, which passes unseen only while a GPU
            # has work; one that waits for another has none. Measured on one host.
            prefer_xla_flag("--xla_gpu_enable_command_buffer=")
        strategy = tf.distribute.MirroredStrategy()
        if strategy.num_replicas_in_sync == 1:
            (device,) = strategy.extended.worker_devices
            logging.warning("distribute=mirrored: %s is the only device", device)
        return strategy
    if distribution == "multi_worker":
        _check_cluster(os.environ.get("TF_CONFIG", ""))
        return tf.distribute.MultiWorkerMirroredStrategy()
    if distribution == "tpu":
        return tf.distribute.TPUStrategy(_connect_to_tpu())
    known = ", ".join(DISTRIBUTIONS)
    raise UserError(f"distribute must be one of {known}, not {distribution!r}")


def _check_cluster(text: str) -> None:
    """Raises a `UserError` unless TF_CONFIG lists workers and names this one."""
    example = (
        '{"cluster": {"worker": ["host0:2222", "host1:2222"]}, '
        '"task": {"type": "worker", "index": 0}}'
    )
    try:
        config = json.loads(text)
        workers, task = config["cluster"]["worker"], config["task"]
        right = (
            isinstance(workers, list)
            and all(re.fullmatch(r"\S+:[0-9]{1,5}", worker) for worker in workers)
            and task["type"] == "worker"
            and task["index"] in range(len(workers))
            and type(task["index"]) is int
        )
    except (ValueError, KeyError, TypeError):
        right = False
    if not right:
        raise UserError(
            f"distribute=multi_worker: TF_CONFIG must be like {example}, "
            f"the index below the number of workers; it is {text!r}"
        )


def _connect_to_tpu() -> tf.distribute.cluster_resolver.TPUClusterResolver:
    try:
        return tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    except (ValueError, tf.errors.OpError) as error:
        raise UserError("distribute=tpu: no TPU found") from error


@contextlib.contextmanager
def lost_workers_named(strategy: tf.distribute.Strategy) -> Iterator[None]:
    """Tells in a `UserError` that another worker is gone."""
    try:
        yield
    except (
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.InternalError,
        tf.errors.UnavailableError,
    ) as error:
        if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            raise
        reason = (error.message or type(error).__name__).splitlines()[0]
        raise UserError(
            "another worker has stopped or cannot be reached; start all again, and "
            f"they go on from the last checkpoint: {reason}"
        ) from error


def add_over_replicas(vector: tf.Tensor) -> tf.Tensor:
    """Returns a tensor's sum over all replicas; call it in every replica."""
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, vector)


def assign(variables: Sequence[keras.Variable], values: Sequence[tf.Tensor]) -> None:
    """Writes variables, each replica its own copy; call it in every replica."""

    def assign_all(strategy, *values):
        for variable, value in zip(variables, values, strict=True):
            strategy.extended.update(
                variable.value, lambda copy, new: copy.assign(new), args=(value,)
            )

    tf.distribute.get_replica_context().merge_call(assign_all, args=tuple(values))


def beside_replicas(
    strategy: tf.distribute.Strategy,
) -> contextlib.AbstractContextManager:
    """Keeps what stands between replicas' computations on each replica's device.

    Otherwise it is on the first one's, through which all replicas' weights, moments
    and gradients would pass in every update. With one replica it changes nothing.
    """
    if strategy.num_replicas_in_sync == 1:
        return contextlib.nullcontext()
    return tf.compat.v1.device(_device_of_input)


def _device_of_input(operation: tf.Operation) -> str:
    return next((value.device for value in operation.inputs if value.device), "")


def worker_index(strategy: tf.distribute.Strategy) -> int:
    """Returns this process's number among the workers; worker 0 writes files."""
    resolver = strategy.cluster_resolver
    if resolver is None or not resolver.cluster_spec().as_dict().get("worker"):
        return 0
    return resolver.task_id or 0
