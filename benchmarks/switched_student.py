"""A student that can do without each optimisation of its passes."""

from collections.abc import Collection

import tensorflow as tf

from cmlm_tf.modeling.chunks import take
from cmlm_tf.modeling.compaction import Compaction, WholeGrid
from cmlm_tf.modeling.output import Reader
from cmlm_tf.modeling.passes import Passes, Targets, grid_of
from cmlm_tf.modeling.student import ConditionalMaskedLM
from cmlm_tf.special_ids import PAD_ID

#: What can be left out, by name. The last layer at wanted positions goes with the
#: vocabulary there.
OPTIMIZATIONS = {
    "shared_sources": "candidates share their source's keys and values, uncopied",
    "wanted_logits": "the vocabulary at wanted positions only",
    "wanted_last_layer": "the last layer's queries and feed-forward there only",
    "finished_leave": "sentences and candidates without a masked position leave",
    "no_padding": "one stream without padding for all but attention",
    "drop_losing": "candidates that cannot win any more stop",
}


def variants() -> dict[str, frozenset[str]]:
    """Returns what is switched on, by the name of each variant.

    >>> {name: len(on) for name, on in variants().items() if "wanted" in name}
    {'wanted_logits': 1, 'wanted_last_layer': 2, 'all but wanted_logits': 4, \
'all but wanted_last_layer': 5}
    """
    every, needs = frozenset(OPTIMIZATIONS), {"wanted_last_layer": "wanted_logits"}
    alone, without = {}, {}
    for name in OPTIMIZATIONS:
        alone[name] = frozenset([name, needs.get(name, name)])
        without[f"all but {name}"] = every - {
            other for other in every if name in (other, needs.get(other))
        }
    return {"plain": frozenset(), **alone, **without, "all": every}


class SwitchedPasses(Passes):
    """Dynamic passes with some of the optimisations; else they are the same."""

    def __init__(self, student: ConditionalMaskedLM, switched_on: Collection[str]):
        """Takes a student and names of `OPTIMIZATIONS`."""
        super().__init__(student)
        self._on = frozenset(switched_on)

    def _predict_active(
        self, targets: Targets, reader: Reader
    ) -> tuple[tf.Tensor, ...]:
        ids, wanted = targets.ids, targets.wanted
        active = tf.ones_like(wanted[:, 0, 0])
        if "finished_leave" in self._on:
            active = tf.reduce_any(wanted, axis=[1, 2])
        places = tf.where(active)
        some = take(targets, tf.cast(places[:, 0], tf.int32))
        if "shared_sources" not in self._on:  # A sentence for each candidate.
            cache = tf.nest.map_structure(
                lambda x: tf.repeat(x, targets.num_candidates, axis=0), some.cache
            )
            alone = (_alone(grid) for grid in (some.ids, some.wanted))
            some = Targets(cache, *alone, tuple(map(_alone, some.given)))
        return tuple(
            tf.tensor_scatter_nd_update(
                tf.zeros_like(ids, new.dtype),
                places,
                tf.reshape(new, [-1, *tf.unstack(tf.shape(ids))[1:]]),
            )
            for new in self._predict(some, reader)
        )

    def _predict(self, targets: Targets, reader: Reader) -> list[tf.Tensor]:
        """Returns what is read at all positions, right where wanted."""
        wanted, valid = grid_of(targets.wanted), grid_of(targets.ids) != PAD_ID
        if "finished_leave" in self._on:
            valid = targets.valid()
        tokens = (Compaction if "no_padding" in self._on else WholeGrid)(valid)
        last_layer = "wanted_last_layer" in self._on
        chosen = Compaction(wanted) if last_layer else tokens
        states = self._states(targets, valid, (tokens, chosen))
        if "wanted_logits" in self._on and not last_layer:
            chosen = Compaction(wanted)
            states = chosen.select_from(tokens, states)
        return [chosen.unpack(y) for y in self._read(states, (), reader, None)]


def _alone(grid: tf.Tensor) -> tf.Tensor:
    """Maps `[sentences, candidates, length]` to `[rows, 1, length]`."""
    return grid_of(grid)[:, tf.newaxis]
