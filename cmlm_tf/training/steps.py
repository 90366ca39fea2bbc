"""One training and one evaluation step of teacher and student.

Losses are means over the whole global batch, whatever the number of replicas:
every replica divides its sums by the counts of all replicas together, so that
the gradients, which the optimizer adds up, are those of one large batch.
"""

import abc
import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from cmlm_tf.modeling.packed_weights import from_vector, to_vector
from cmlm_tf.modeling.student import ConditionalMaskedLM
from cmlm_tf.modeling.teacher import AutoregressiveTransformer
from cmlm_tf.modeling.transformer import Transformer
from cmlm_tf.special_ids import MASK_ID
from cmlm_tf.training import losses
from cmlm_tf.training.distribution import add_over_replicas, assign, beside_replicas
from cmlm_tf.training.optimizer import AdamState
from cmlm_tf.training.vocabulary_loss import vocabulary_loss

_PARALLEL_BATCHES = 2

Batch = dict[str, tf.Tensor]
Scalars = dict[str, tf.Tensor]


class Term(NamedTuple):
    """A mean that is reported, and minimised if its weight is not zero.

    Attributes:
        unit: what it is a mean over, a key of `counts`.
        weight: its weight in the loss.
    """

    unit: str
    weight: float


class _Progress(NamedTuple):
    """What one update hands on to the next.

    Attributes:
        optimizer: weights, moments and averages.
        seeds: uint32 `[2 * dropouts]`, the states of random numbers.
        sums: float32 `[terms]`, each term's sum over the updates so far.
        counts: float32 `[units]`, each unit's count over them.
    """

    optimizer: AdamState
    seeds: tf.Tensor
    sums: tf.Tensor
    counts: tf.Tensor


class TrainingModel(keras.Model, abc.ABC):
    """Wraps a model with its loss, for `fit` and `evaluate`.

    A call of Keras's `train_function` makes `steps_per_execution` updates. They
    hand on weights and moments as vectors: to start one of XLA's programs takes
    time for each variable that it reads, so these are read and written but once
    a call, outside.

    Attributes:
        model: the teacher or student.
        terms: the reported means by name.
    """

    train_function: Callable[..., Scalars] | None
    test_function: Callable[..., Scalars] | None

    def __init__(
        self,
        model: Transformer,
        terms: dict[str, Term],
        label_smoothing: float,
        jit_compile: bool,
    ):
        """Prepares the step.

        Args:
            model: with its weights made.
            terms: the reported means by name.
            label_smoothing: share spread over the allowed vocabulary.
            jit_compile: whether XLA compiles updates.
        """
        super().__init__()
        self.model = model
        self.terms = terms
        self.label_smoothing = label_smoothing
        self.allowed = losses.allowed_vocabulary(
            model.config.vocab_size, model.banned_ids
        )
        self._units = sorted({"targets", *(term.unit for term in terms.values())})
        self._term_metrics = [keras.metrics.Mean(name=name) for name in terms]
        self._targets_metric = keras.metrics.Mean(name="targets_per_step")
        self.built = True
        compiled = functools.partial(
            tf.function,
            jit_compile=jit_compile,
            autograph=False,
            # Without XLA, many updates in one graph would take long to optimise.
            experimental_attributes={"_noinline": not jit_compile},
        )
        self._evaluate = compiled(
            lambda batch: _listed(self.sums(batch, training=False), self.terms)
        )
        self._differentiate = compiled(self._gradient_and_sums)
        self._finish = compiled(self._next_progress)
        # One program, or its two parts, where a strategy adds up over replicas in
        # between: one vector, as it takes replicas time to meet.
        if tf.distribute.has_strategy():
            self._update = self._one_update
            self._update_alone = functools.partial(
                self._one_update, add_up=lambda values: values
            )
        else:
            self._update = self._update_alone = compiled(self._one_update)

    @abc.abstractmethod
    def counts(self, batch: Batch) -> Scalars:
        """Counts a batch's units, by the names used in `terms`.

        Also `targets`, the target subwords. All are float32 scalars.
        """

    @abc.abstractmethod
    def sums(self, batch: Batch, training: bool) -> Scalars:
        """Runs the model and sums each term over this replica's units."""

    def fit(self, x: tf.data.Dataset, **kwargs) -> keras.callbacks.History:
        """Trains on global batches, as Keras does, but measures none; see `_fed`."""
        return super().fit(self._fed(x), **kwargs)

    def evaluate(self, x: tf.data.Dataset, **kwargs) -> Any:
        """Measures global batches, as Keras does; see `_fed`."""
        return super().evaluate(self._fed(x), **kwargs)

    def _fed(self, dataset: tf.data.Dataset) -> Any:
        """Returns what all replicas read, with the counts of the global batch.

        Counted before it is split, replicas need not meet before they begin. A batch
        stays in the host's memory till it is computed with: to fetch it from a
        device would wait for the last update there.
        """
        strategy = self.distribute_strategy
        counted = dataset.map(self._with_counts, _PARALLEL_BATCHES, deterministic=True)
        options = tf.distribute.InputOptions(
            experimental_fetch_to_device=isinstance(strategy, tf.distribute.TPUStrategy)
        )
        return strategy.experimental_distribute_dataset(counted, options)

    def _with_counts(self, batch: Batch) -> Batch:
        """Adds `counts`, float32 `[rows, units]`, the same for every row."""
        counts = _listed(self.counts(batch), self._units)
        rows = tf.shape(batch["source_ids"])[0]
        return batch | {"counts": tf.tile(counts[tf.newaxis], [rows, 1])}

    @staticmethod
    def _global_counts(batch: Batch) -> tf.Tensor:
        """Returns float32 `[units]`; zeros in a replica that has no rows."""
        return tf.reduce_max(tf.pad(batch["counts"], [[0, 1], [0, 0]]), axis=0)

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        """What is measured; Keras's own loss is left out."""
        return [*self._term_metrics, self._targets_metric]

    def means(self) -> dict[str, float]:
        """Returns each term and `targets_per_step` since the last reset."""
        return {metric.name: float(metric.result()) for metric in self.metrics}

    def make_train_function(self, force: bool = False) -> None:
        """Makes what `fit` calls, for `steps_per_execution` updates."""
        if self.train_function is None or force:
            self.train_function = tf.function(
                self._train, autograph=False, reduce_retracing=True
            )

    def make_test_function(self, force: bool = False) -> None:
        """Makes what `evaluate` calls, for up to `steps_per_execution` batches."""
        if self.test_function is not None and not force:
            return

        @functools.partial(tf.function, autograph=False, reduce_retracing=True)
        def measure(batch: Batch) -> None:
            self.distribute_strategy.run(self._measure, args=(batch,))

        def test(iterator: Iterator[Batch]) -> Scalars:
            batches = list(itertools.islice(iterator, self.steps_per_execution))
            if not batches:
                raise StopIteration
            for batch in batches:
                measure(batch)
            return {}

        self.test_function = test

    def compile_shapes(
        self, spec: dict[str, tf.TensorSpec], shapes: Sequence[tuple[int, int]]
    ) -> None:
        """Makes XLA compile an update for all shapes at once.

        Each runs on an empty batch, and its result is thrown away. Replicas do not
        add up, as they could wait for each other in updates of different shapes.

        Args:
            spec: what training's dataset says of its batches, by name.
            shapes: `(rows, row_length)` of the global batches.
        """
        strategy = self.distribute_strategy

        # XLA knows a program by its name, which within a graph is another than
        # outside, and training calls it within a graph.
        @functools.partial(tf.function, autograph=False)
        def update(batch: Batch) -> _Progress:
            with beside_replicas(strategy):
                return strategy.run(
                    lambda: self._update_alone(self._read_progress(), batch)
                )

        counts = tf.TensorSpec([None, len(self._units)], tf.float32)
        run = update.get_concrete_function(spec | {"counts": counts})

        def run_empty(shape: tuple[int, int]) -> None:
            rows, length = shape
            shape = rows // strategy.num_replicas_in_sync, length
            # All may have no room in memory side by side; compiled they are.
            with contextlib.suppress(tf.errors.ResourceExhaustedError):
                empty = {name: tf.zeros(shape, tf.int32) for name in spec}
                run(self._with_counts(empty))

        with ThreadPoolExecutor(len(shapes)) as pool:
            list(pool.map(run_empty, shapes))

    def objective(self, means: dict[str, float]) -> float:
        """Returns the weighted sum of the terms, which training minimises."""
        return sum(term.weight * means[name] for name, term in self.terms.items())

    @contextlib.contextmanager
    def averaged_weights(self) -> Iterator[None]:
        """Puts the moving averages in the weights' place for a while."""
        weights = self.trainable_variables
        kept = [tf.identity(weight.value) for weight in weights]
        try:
            for weight, average in zip(weights, self.optimizer.averages, strict=True):
                weight.assign(average)
            yield
        finally:
            for weight, value in zip(weights, kept, strict=True):
                weight.assign(value)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        """Does nothing, as all is built; Keras's fails with several workers."""

    def _train(self, iterator) -> Scalars:
        run = self.distribute_strategy.run
        with beside_replicas(self.distribute_strategy):
            _, progress = tf.while_loop(
                lambda done, _: done < self.steps_per_execution,
                lambda done, progress: (
                    done + 1,
                    run(self._update, args=(progress, iterator.get_next())),
                ),
                (0, run(self._read_progress)),
            )
        run(self._write_progress, args=(progress,))
        return {}

    def _write_progress(self, progress: _Progress) -> None:
        self.optimizer.write_state(progress.optimizer)
        assign(self._seeds, from_vector(progress.seeds, self._seeds))
        self._record(progress.sums, progress.counts, self.steps_per_execution)

    def _measure(self, batch: Batch) -> None:
        sums = add_over_replicas(self._evaluate(batch))
        self._record(sums, self._global_counts(batch), 1)

    @property
    def _seeds(self) -> list[keras.Variable]:
        """The states of random numbers, which dropout draws."""
        return self.model.non_trainable_variables

    def _read_progress(self) -> _Progress:
        progress = _Progress(
            self.optimizer.read_state(),
            to_vector(self._seeds),
            tf.zeros([len(self.terms)]),
            tf.zeros([len(self._units)]),
        )
        # To read a variable has no device of its own; a loop would keep the value on
        # the first replica's.
        return tf.nest.map_structure(tf.identity, progress)

    def _one_update(
        self,
        progress: _Progress,
        batch: Batch,
        add_up: Callable = add_over_replicas,
    ) -> _Progress:
        counts = self._global_counts(batch)
        weights = progress.optimizer.weights
        vector, seeds = self._differentiate(weights, progress.seeds, batch, counts)
        return self._finish(progress, add_up(vector), seeds, counts)

    def _gradient_and_sums(
        self, weights: tf.Tensor, seeds: tf.Tensor, batch: Batch, counts: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns this replica's part of the gradient, its sums behind it.

        Args:
            weights: float32 `[weights]`.
            seeds: as in `_Progress`.
            batch: this replica's part of it.
            counts: float32 `[units]`, of the global batch.

        Returns:
            float32 `[weights + terms]` and the next seeds.
        """
        values = from_vector(weights, self.trainable_variables)
        mapping = [
            *zip(self.trainable_variables, values, strict=True),
            *zip(self._seeds, from_vector(seeds, self._seeds), strict=True),
        ]
        by_unit = self._by_unit(counts)
        with keras.StatelessScope(mapping) as scope, tf.GradientTape() as tape:
            tape.watch(values)
            sums = self.sums(batch, training=True)
            loss = tf.add_n(
                [
                    term.weight * tf.math.divide_no_nan(sums[name], by_unit[term.unit])
                    for name, term in self.terms.items()
                    if term.weight
                ]
            )
        gradient = tape.gradient(loss, values)
        seeds = to_vector([scope.get_current_value(seed) for seed in self._seeds])
        return to_vector([*gradient, _listed(sums, self.terms)]), seeds

    def _next_progress(
        self,
        progress: _Progress,
        vector: tf.Tensor,
        seeds: tf.Tensor,
        counts: tf.Tensor,
    ) -> _Progress:
        """Ends an update with what `_gradient_and_sums` gave all replicas together."""
        gradient, sums = tf.split(vector, [-1, len(self.terms)])
        return _Progress(
            self.optimizer.next_state(progress.optimizer, gradient),
            seeds,
            progress.sums + sums,
            progress.counts + counts,
        )

    def _record(self, sums: tf.Tensor, counts: tf.Tensor, updates: int) -> None:
        """Adds sums over updates and replicas to the running means."""
        by_unit = self._by_unit(counts)
        for metric, total in zip(self._term_metrics, tf.unstack(sums), strict=True):
            count = by_unit[self.terms[metric.name].unit]
            metric.update_state(tf.math.divide_no_nan(total, count), count)
        targets = by_unit["targets"] / updates
        has_rows = tf.cast(targets > 0, tf.float32)
        self._targets_metric.update_state(targets, has_rows * updates)

    def _by_unit(self, counts: tf.Tensor) -> Scalars:
        return dict(zip(self._units, tf.unstack(counts), strict=True))

    def _token_sums(
        self, states: tf.Tensor, batch: Batch, wanted: tf.Tensor
    ) -> Scalars:
        loss, num_correct = vocabulary_loss(
            states,
            tf.convert_to_tensor(self.model.embedding.table),
            batch["target_ids"],
            wanted,
            self.allowed,
            self.label_smoothing,
        )
        return {"token_loss": loss, "accuracy": num_correct}


def _listed(scalars: Scalars, names: Iterable[str]) -> tf.Tensor:
    """Returns the named scalars in order: float32 `[names]`."""
    return tf.stack([scalars[name] for name in names])


class TeacherTraining(TrainingModel):
    """Trains the teacher to predict each target subword from those before it."""

    def __init__(
        self,
        model: AutoregressiveTransformer,
        label_smoothing: float = losses.LABEL_SMOOTHING,
        jit_compile: bool = False,
    ):
        """Prepares the step; see `TrainingModel`."""
        terms = {"token_loss": Term("tokens", 1.0), "accuracy": Term("tokens", 0.0)}
        super().__init__(model, terms, label_smoothing, jit_compile)

    def counts(self, batch: Batch) -> Scalars:
        """Counts target subwords, EOS included."""
        tokens = losses.count(batch["target_segments"] > 0)
        return {"tokens": tokens, "targets": tokens}

    def sums(self, batch: Batch, training: bool) -> Scalars:
        """Sums loss and correct predictions over target subwords."""
        states = self.model.target_states(batch, training)
        return self._token_sums(states, batch, batch["target_segments"] > 0)


class StudentTraining(TrainingModel):
    """Trains the student as in Kreutzer et al. (2020), section 2.

    The loss is that of the targets whose decoder input is MASK.
    """

    def __init__(
        self,
        model: ConditionalMaskedLM,
        length_loss_weight: float,
        label_smoothing: float = losses.LABEL_SMOOTHING,
        jit_compile: bool = False,
    ):
        """Prepares the step; see `TrainingModel`."""
        terms = {
            "token_loss": Term("masked", 1.0),
            "accuracy": Term("masked", 0.0),
            "length_loss": Term("sentences", length_loss_weight),
            "length_accuracy": Term("sentences", 0.0),
        }
        super().__init__(model, terms, label_smoothing, jit_compile)

    def counts(self, batch: Batch) -> Scalars:
        """Counts masked targets, all targets and sentences."""
        starts = losses.sentence_starts(
            batch["source_segments"], batch["source_positions"]
        )
        return {
            "masked": losses.count(batch["decoder_ids"] == MASK_ID),
            "sentences": losses.count(starts),
            "targets": losses.count(batch["target_segments"] > 0),
        }

    def sums(self, batch: Batch, training: bool) -> Scalars:
        """Sums over masked targets, and of the lengths over sentences."""
        states, length_logits = self.model.target_states(batch, training)
        masked = batch["decoder_ids"] == MASK_ID
        token_sums = self._token_sums(states, batch, masked)
        return token_sums | self._length_sums(length_logits, batch)

    def _length_sums(self, logits: tf.Tensor, batch: Batch) -> Scalars:
        starts = losses.sentence_starts(
            batch["source_segments"], batch["source_positions"]
        )
        labels = losses.length_labels(
            batch["source_segments"], batch["target_segments"]
        )
        # Padding's count may be no class.
        labels = tf.where(starts, labels, 0)
        classes = tf.ones(tf.shape(logits)[-1:], tf.bool)
        length_losses = losses.smoothed_cross_entropy(logits, labels, classes, 0.0)
        return {
            "length_loss": losses.masked_sum(length_losses, starts),
            "length_accuracy": losses.count(
                losses.is_best(logits, labels, classes) & starts
            ),
        }
