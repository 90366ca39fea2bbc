"""One update as a function: of weights, moments, seeds and a batch.

Losses are means over the whole global batch, whatever the number of replicas:
every replica divides its sums by the counts of all replicas together, so that
the gradients, which are added up, are those of one large batch.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import keras
import tensorflow as tf

from cmlm_tf.modeling.packed_weights import from_vector, to_vector
from cmlm_tf.modeling.transformer import Transformer
from cmlm_tf.training.distribution import add_over_replicas, assign
from cmlm_tf.training.inputs import Batch
from cmlm_tf.training.objectives import Objective, Scalars
from cmlm_tf.training.optimizer import Adam, AdamState


class Progress(NamedTuple):
    """What one update hands on to the next.

    Attributes:
        optimizer: weights, moments and averages.
        seeds: uint32 `[2 * dropouts]`, the states of random numbers.
        totals: float32 `[terms + units]`, sums and counts over updates so far.
    """

    optimizer: AdamState
    seeds: tf.Tensor
    totals: tf.Tensor


class Updates:
    """Computes updates in each replica; the variables are read and written apart.

    Attributes:
        units: names of the counts, sorted.
        totals: a variable, `[terms + units]`, what was measured.
        one: maps progress and a replica's part of a batch, with its counts, to
            progress.
        one_alone: the same, but replicas do not add up.
        sum: maps a replica's part of a batch to its part of the batch's totals.
    """

    def __init__(
        self, model: Transformer, objective: Objective, optimizer: Adam, jit: bool
    ):
        """Compiles nothing yet; call it in the strategy's scope."""
        self._model, self._objective, self._optimizer = model, objective, optimizer
        terms = objective.terms
        self.units = sorted({"targets", *(term.unit for term in terms.values())})
        size = len(terms) + len(self.units)
        self.totals = keras.Variable("zeros", [size], "float32", trainable=False)
        compiled = functools.partial(
            tf.function,
            jit_compile=jit,
            autograph=False,
            # Without XLA, many updates in one graph would take long to optimise.
            experimental_attributes={"_noinline": not jit},
        )
        self.sum = compiled(self._batch_totals)
        self._differentiate = compiled(self._gradient_and_totals)
        self._finish = compiled(self._next_progress)
        # One program, or its two parts, where a strategy adds up over replicas in
        # between: one vector, as it takes replicas time to meet.
        if tf.distribute.has_strategy():
            self.one = self._one_update
            self.one_alone = functools.partial(self._one_update, add_up=lambda x: x)
        else:
            self.one = self.one_alone = compiled(self._one_update)

    @property
    def _seeds(self) -> list[keras.Variable]:
        """The states of random numbers, which dropout draws."""
        return self._model.non_trainable_variables

    def read(self) -> Progress:
        """Returns what the variables hold."""
        progress = Progress(
            self._optimizer.read_state(),
            to_vector(self._seeds),
            tf.convert_to_tensor(self.totals),
        )
        # To read a variable has no device of its own; a loop would keep the value on
        # the first replica's.
        return tf.nest.map_structure(tf.identity, progress)

    def write(self, progress: Progress) -> None:
        """Writes the variables; call it in every replica."""
        self._optimizer.write_state(progress.optimizer)
        seeds = from_vector(progress.seeds, self._seeds)
        assign([*self._seeds, self.totals], [*seeds, progress.totals])

    def with_counts(self, batch: Batch) -> Batch:
        """Adds `counts` to a global batch: float32 `[rows, units]`, equal rows."""
        counts = self._objective.counts(batch)
        counts = tf.stack([counts[name] for name in self.units])
        rows = tf.shape(batch["source_ids"])[0]
        return batch | {"counts": tf.tile(counts[tf.newaxis], [rows, 1])}

    def means(self, totals: tf.Tensor) -> dict[str, float]:
        """Returns each term's mean, and `targets`, the targets' number."""
        terms = self._objective.terms
        names, values = [*terms, *self.units], totals.numpy().tolist()
        named = dict(zip(names, values, strict=True))
        means = {
            name: named[name] / named[term.unit] if named[term.unit] else 0.0
            for name, term in terms.items()
        }
        return means | {"targets": named["targets"]}

    def _one_update(
        self,
        progress: Progress,
        batch: Batch,
        add_up: Callable[[tf.Tensor], tf.Tensor] = add_over_replicas,
    ) -> Progress:
        weights = progress.optimizer.weights
        vector, seeds = self._differentiate(weights, progress.seeds, batch)
        return self._finish(progress, add_up(vector), seeds)

    def _gradient_and_totals(
        self, weights: tf.Tensor, seeds: tf.Tensor, batch: Batch
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns this replica's part of the gradient, and the next seeds.

        Behind the gradient are its totals: float32 `[weights + terms + units]`.
        """
        variables = self._model.trainable_variables
        values = from_vector(weights, variables)
        mapping = [
            *zip(variables, values, strict=True),
            *zip(self._seeds, from_vector(seeds, self._seeds), strict=True),
        ]
        with keras.StatelessScope(mapping) as scope, tf.GradientTape() as tape:
            tape.watch(values)
            sums = self._objective.sums(self._model, batch, training=True)
            loss = self._loss(sums, batch)
        gradient = tape.gradient(loss, values)
        seeds = to_vector([scope.get_current_value(seed) for seed in self._seeds])
        return to_vector([*gradient, self._listed(sums, batch)]), seeds

    def _loss(self, sums: Scalars, batch: Batch) -> tf.Tensor:
        """Divides this replica's sums by the counts of all replicas."""
        # Zeros in a replica that has no rows.
        counts = tf.reduce_max(tf.pad(batch["counts"], [[0, 1], [0, 0]]), axis=0)
        by_unit = dict(zip(self.units, tf.unstack(counts), strict=True))
        return tf.add_n(
            [
                term.weight * tf.math.divide_no_nan(sums[name], by_unit[term.unit])
                for name, term in self._objective.terms.items()
                if term.weight
            ]
        )

    def _batch_totals(self, batch: Batch) -> tf.Tensor:
        sums = self._objective.sums(self._model, batch, training=False)
        return self._listed(sums, batch)

    def _listed(self, sums: Scalars, batch: Batch) -> tf.Tensor:
        """Lists this replica's sums and counts: float32 `[terms + units]`."""
        counts = self._objective.counts(batch)
        return tf.stack(
            [sums[name] for name in self._objective.terms]
            + [counts[name] for name in self.units]
        )

    def _next_progress(
        self, progress: Progress, vector: tf.Tensor, seeds: tf.Tensor
    ) -> Progress:
        """Ends an update with what `_gradient_and_totals` gave, over all replicas."""
        gradient, totals = tf.split(vector, [-1, self.totals.shape[0]])
        return Progress(
            self._optimizer.next_state(progress.optimizer, gradient),
            seeds,
            progress.totals + totals,
        )
