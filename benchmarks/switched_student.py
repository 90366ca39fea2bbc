"""A student that can do without each optimisation of its passes."""

from collections.abc import Collection

import tensorflow as tf

from cmlm_tf.modeling.compaction import Compaction, take
from cmlm_tf.modeling.output import best_tokens
from cmlm_tf.modeling.student import ConditionalMaskedLM, run_decoder
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


class SwitchedStudent:
    """A student whose passes have some of the optimisations; else it is the same."""

    def __init__(self, model: ConditionalMaskedLM, switched_on: Collection[str]):
        """Takes a student and names of `OPTIMIZATIONS`."""
        self._model, self._on = model, frozenset(switched_on)

    def __getattr__(self, name):
        """Reads everything else off the student."""
        return getattr(self._model, name)

    def predict_fn(self, cache, num_candidates, static, read_fn=None, **kwargs):
        """Does what `ConditionalMaskedLM.predict_fn` does with dynamic shapes."""
        del kwargs
        assert not static and read_fn is None
        shares = "shared_sources" in self._on
        rows_of_memory = 1 if shares else num_candidates
        cache = tf.nest.map_structure(
            lambda x: tf.repeat(x, rows_of_memory, axis=0), cache
        )

        def predict(input_ids, wanted):
            rows = tf.range(tf.shape(wanted)[0])
            by_sentence = tf.reshape(rows, [-1, num_candidates])
            if "finished_leave" in self._on:
                has_wanted = tf.reduce_any(tf.gather(wanted, by_sentence), [1, 2])
                by_sentence = tf.boolean_mask(by_sentence, has_wanted)
            rows = tf.reshape(by_sentence, [-1])
            sentences = by_sentence[:, 0] // num_candidates
            values = self._predict(
                take(cache, sentences if shares else rows),
                num_candidates if shares else 1,
                tf.gather(input_ids, rows),
                tf.gather(wanted, rows),
            )
            return tuple(
                tf.tensor_scatter_nd_update(
                    tf.zeros_like(input_ids, new.dtype), rows[:, None], new
                )
                for new in values
            )

        return predict

    def _predict(self, cache, rows_of_memory, input_ids, wanted):
        """Returns ids and log-probabilities of the rows, right where wanted."""
        valid = input_ids != PAD_ID
        if "finished_leave" in self._on:
            valid &= tf.reduce_any(wanted, axis=1, keepdims=True)
        tokens = Compaction(valid, static="no_padding" not in self._on)
        last_layer = "wanted_last_layer" in self._on
        chosen = Compaction(wanted) if last_layer else tokens
        positions = tf.zeros_like(input_ids) + tf.range(tf.shape(input_ids)[1])
        model = self._model
        x = model.embedding(tokens.pack(input_ids), tokens.pack(positions))
        allowed = valid[:, None, None, :], cache.valid[:, None, None, :]
        x = run_decoder(
            model.decoder, cache.memory, x, (tokens, chosen), allowed, rows_of_memory
        )
        if "wanted_logits" in self._on and not last_layer:
            chosen = Compaction(wanted)
            x = chosen.select_from(tokens, x)
        logits = model.embedding.logits(x)
        return [chosen.unpack(y) for y in best_tokens(logits, model.banned_ids)]
