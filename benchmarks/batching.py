"""Merges requests that come close together, as TensorFlow Serving's batching does."""

import concurrent.futures
import queue
import threading
import time

import numpy as np
import tensorflow as tf


class Batching:
    """A servable that runs several requests as one batch.

    Attributes:
        signatures: those of the servable.
    """

    def __init__(self, servable, max_batch_size=64, timeout=0.002):
        """Starts the thread that merges; `timeout` is in seconds."""
        self.signatures = servable.signatures
        self._servable, self._most, self._timeout = servable, max_batch_size, timeout
        self._queue = queue.SimpleQueue()
        self._left_over = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def close(self):
        """Ends the thread."""
        while self._thread.is_alive():  # One may end the wait of a batch instead.
            self._queue.put(None)
            self._thread.join(0.1)

    def predict(self, name, inputs, wanted=()):
        """Runs a signature together with other requests; see `Servable.predict`."""
        given = {
            key: tf.make_ndarray(value)
            for key, value in self.signatures[name].defaults.items()
        } | inputs
        sizes = {len(value) for value in given.values()}
        if len(sizes) > 1:
            raise tf.errors.InvalidArgumentError(
                None,
                None,
                "Batching input tensors supplied in a given call do not have equal "
                f"0th-dimension size: {sorted(sizes)}",
            )
        future = concurrent.futures.Future()
        self._queue.put((name, given, sizes.pop(), future))
        outputs = future.result()
        return {k: v for k, v in outputs.items() if not wanted or k in wanted}

    def _work(self):
        while (first := self._next(None)) is not None:
            batch, size, end = [first], first[2], time.monotonic() + self._timeout
            while size < self._most:
                request = self._next(max(end - time.monotonic(), 0))
                if request is None:
                    break
                if request[0] != first[0] or size + request[2] > self._most:
                    self._left_over = request
                    break
                batch.append(request)
                size += request[2]
            self._run(batch)

    def _next(self, timeout):
        if self._left_over is not None:
            request, self._left_over = self._left_over, None
            return request
        try:
            return self._queue.get(timeout=timeout)
        except queue.Empty:
            return None

    def _run(self, batch):
        merged = {
            key: np.concatenate([inputs[key] for _, inputs, _, _ in batch])
            for key in batch[0][1]
        }
        try:
            outputs = self._servable.predict(batch[0][0], merged)
        except tf.errors.OpError as error:
            for *_, future in batch:
                future.set_exception(error)
            return
        start = 0
        for _, _, size, future in batch:
            part = slice(start, start + size)
            future.set_result({key: value[part] for key, value in outputs.items()})
            start += size
