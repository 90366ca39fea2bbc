"""A model that is trained on all devices, whatever its objective.

The loop over updates is `loop.py`'s, not that of Keras's `fit`, whose callbacks,
metrics and checkpoints would all have to be replaced: a checkpoint holds the random
states, several updates hand on vectors, a loss is one of the global batch.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import tensorflow as tf

from cmlm_tf.modeling.transformer import Transformer
from cmlm_tf.training.distribution import add_over_replicas, beside_replicas
from cmlm_tf.training.inputs import Batch
from cmlm_tf.training.objectives import Objective
from cmlm_tf.training.optimizer import Adam
from cmlm_tf.training.updates import Progress, Updates

_PARALLEL_BATCHES = 2


class TrainingModel:
    """A model with its objective and optimizer.

    A call of `update` makes several updates. They hand on weights and moments as
    vectors: to start one of XLA's programs takes time for each variable that it
    reads, so these are read and written but once a call, outside.

    Attributes:
        model: the teacher or student, with its weights made.
        objective: what is minimised.
        optimizer: of the model's trainable variables.
        updates_per_call: updates that `update` makes.
    """

    def __init__(
        self,
        model: Transformer,
        objective: Objective,
        optimizer: Adam,
        updates_per_call: int = 1,
        jit_compile: bool = False,
    ):
        """Prepares updates, of XLA's or not; call it in the strategy's scope."""
        self.model, self.objective, self.optimizer = model, objective, optimizer
        self.updates_per_call = updates_per_call
        self._strategy = tf.distribute.get_strategy()
        self._updates = Updates(model, objective, optimizer, jit_compile)
        graph = functools.partial(tf.function, autograph=False, reduce_retracing=True)
        self._call, self._measure = graph(self._make_updates), graph(self._add_up)

    def distributed(self, dataset: tf.data.Dataset) -> Iterable[Any]:
        """Returns what all replicas read of global batches, with the batches' counts.

        Counted before it is split, replicas need not meet before they begin. A batch
        stays in the host's memory till it is computed with: to fetch it from a
        device would wait for the last update there.
        """
        tpu = isinstance(self._strategy, tf.distribute.TPUStrategy)
        options = tf.distribute.InputOptions(experimental_fetch_to_device=tpu)
        counted = dataset.map(
            self._updates.with_counts, _PARALLEL_BATCHES, deterministic=True
        )
        return self._strategy.experimental_distribute_dataset(counted, options)

    def update(self, batches: Iterator[Any]) -> None:
        """Makes `updates_per_call` updates of batches that `distributed` returned."""
        self._call(batches)

    def _make_updates(self, batches: Any) -> None:
        run, updates = self._strategy.run, self._updates
        with beside_replicas(self._strategy):
            _, progress = tf.while_loop(
                lambda done, _: done < self.updates_per_call,
                lambda done, progress: (
                    done + 1,
                    run(updates.one, args=(progress, batches.get_next())),
                ),
                (0, run(updates.read)),
            )
        run(updates.write, args=(progress,))

    def measured(self) -> dict[str, float]:
        """Returns each term's mean over all updates since the last `reset`.

        Also `targets`, the number of their target subwords.
        """
        return self._updates.means(tf.convert_to_tensor(self._updates.totals))

    def reset(self) -> None:
        """Forgets what was measured."""
        self._updates.totals.assign(tf.zeros_like(self._updates.totals))

    def evaluate(
        self, dataset: tf.data.Dataset, before_each: Callable[[], None] = lambda: None
    ) -> dict[str, float]:
        """Measures the weights as they are, as `measured`, over a finite dataset.

        Args:
            dataset: of global batches.
            before_each: called before each batch.
        """
        totals = 0.0
        for batch in self.distributed(dataset):
            before_each()
            # The same in all replicas.
            totals += self._strategy.experimental_local_results(self._measure(batch))[0]
        return self._updates.means(totals)

    def _add_up(self, batch: Batch) -> tf.Tensor:
        return self._strategy.run(
            lambda part: add_over_replicas(self._updates.sum(part)), args=(batch,)
        )

    def loss(self, means: dict[str, float]) -> float:
        """Returns the weighted sum of the terms, which training minimises."""
        terms = self.objective.terms.items()
        return sum(term.weight * means[name] for name, term in terms)

    @contextlib.contextmanager
    def averaged_weights(self) -> Iterator[None]:
        """Puts the moving averages in the weights' place for a while."""
        weights = self.model.trainable_variables
        kept = [tf.identity(weight.value) for weight in weights]
        try:
            for weight, average in zip(weights, self.optimizer.averages, strict=True):
                weight.assign(average)
            yield
        finally:
            for weight, value in zip(weights, kept, strict=True):
                weight.assign(value)

    def compile_shapes(
        self, spec: dict[str, tf.TensorSpec], shapes: Sequence[tuple[int, int]]
    ) -> None:
        """Makes XLA compile an update for all shapes at once.

        Otherwise each is compiled when its first batch comes, one after the other.
        Here each runs on an empty batch, and its result is thrown away. Replicas do
        not add up, as they could wait for each other in updates of different shapes.

        Args:
            spec: what training's dataset says of its batches, by name.
            shapes: `(rows, row_length)` of the global batches.
        """
        strategy, updates = self._strategy, self._updates

        # XLA knows a program by its name, which within a graph is another than
        # outside, and training calls it within a graph.
        @functools.partial(tf.function, autograph=False)
        def update(batch: Batch) -> Progress:
            with beside_replicas(strategy):
                return strategy.run(lambda: updates.one_alone(updates.read(), batch))

        counts = {"counts": tf.TensorSpec([None, len(updates.units)], tf.float32)}
        run = update.get_concrete_function(spec | counts)

        def run_empty(shape: tuple[int, int]) -> None:
            rows, length = shape
            shape = rows // strategy.num_replicas_in_sync, length
            # All may have no room in memory side by side; compiled they are.
            with contextlib.suppress(tf.errors.ResourceExhaustedError):
                empty = {name: tf.zeros(shape, tf.int32) for name in spec}
                run(updates.with_counts(empty))

        with ThreadPoolExecutor(len(shapes)) as pool:
            list(pool.map(run_empty, shapes))
