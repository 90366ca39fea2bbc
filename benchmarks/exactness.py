r"""Checks that the fast decoding loop changes nothing, on real sentences.

Every heuristic and update strategy decodes the same sentences in three ways: in
batches by the fast loop, each sentence alone by the fast loop, and in batches by
the plain loop, which computes every position of a grid with eight more than the longest
target has and drops nothing.
All must give the same passes. Matrix kernels differ by shape in the last digits, so
that a choice may differ at a near-tie: then all log-probabilities of the first pass
that differs still agree within a tolerance. Every such case is listed; anything
else is an error.

Example:
  python -m benchmarks.exactness --model_dir=student/model --input=test.en \
      --output=exactness.json
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import tensorflow as tf
from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.data.text_files import read_lines
from cmlm_tf.decoding.candidates import Candidates, unmask_candidates
from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.decoding.lengths import length_beam
from cmlm_tf.decoding.loop import Unmasking, UnmaskTrace
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import LoadedModel, load_model
from cmlm_tf.modeling.passes import DynamicPasses, StaticPasses
from cmlm_tf.special_ids import MASK_ID, PAD_ID
from cmlm_tf.translate.batches import BatchShapes
from cmlm_tf.translate.graphs import as_arrays
from cmlm_tf.utils.json_files import write_json

_MODEL_DIR = flags.DEFINE_string("model_dir", None, "A student.", required=True)
_INPUT = flags.DEFINE_string("input", None, "Source lines.", required=True)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file.", required=True)
_SENTENCES = flags.DEFINE_integer("sentences", 1000, "The first so many lines.")
_LENGTH_BEAM = flags.DEFINE_integer("length_beam", 3, "Length candidates.")
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 50, "Sentences side by side.")
_HEURISTICS = flags.DEFINE_list("heuristics", list(HEURISTICS), "Those to check.")
_STRATEGIES = flags.DEFINE_list("strategies", list(STRATEGIES), "Those to check.")
_FORBID_REPEATS = flags.DEFINE_bool("forbid_repeats", False, "As in cmlm-decode.")

_SETTINGS = {
    "mask_predict": 6,
    "fixed_k": 4,
    "thresh": 0.5,
    "comb_thresh": 0.3,
    "fcomb_thresh": 0.3,
}
_MAX_ITERATIONS = 20
_PADDING = 8
_TOLERANCE = 1e-4

Ids = Sequence[int]


def main(_) -> None:
    """Compares the three ways for every rule and strategy."""
    loaded = load_model(_MODEL_DIR.value, role="student")
    lines = list(itertools.islice(read_lines(_INPUT.value), _SENTENCES.value))
    subwords = SubwordModel(loaded.subword_path)
    sources = [ids for ids in subwords.encode(lines) if ids]
    rows = []
    for rule in itertools.product(_HEURISTICS.value, _STRATEGIES.value):
        for way, near_ties in _compare(loaded, *rule, sources):
            row = {"heuristic": rule[0], "strategy": rule[1], "against": way}
            rows.append(row | {"sentences": len(sources), "near_ties": near_ties})
            print(*rule, way, f"{len(near_ties)} near-ties", flush=True)
    write_json(_OUTPUT.value, {"tolerance": _TOLERANCE, "rows": rows})


def _compare(
    loaded: LoadedModel, heuristic: str, strategy: str, sources: Sequence[Ids]
) -> Iterator[tuple[str, list[dict]]]:
    """Yields the near-ties of each way against the fast loop in batches."""
    size, make = _BATCH_SIZE.value, functools.partial(_decoder, loaded, heuristic)
    fast = make(strategy)
    batched = list(_by_sentence(fast, sources, size))
    plain = _by_sentence(make(strategy, plain=True), sources, size)
    yield "plain", list(_differences(batched, plain, _difference))
    alone = _by_sentence(fast, sources, 1)
    yield "alone", list(_differences(batched, alone, _difference))
    if strategy == "update_masked_sub":
        dropping = _by_sentence(make(strategy, drop=True), sources, size)
        yield "dropping", list(_differences(batched, dropping, _winners_differ))


def _decoder(
    loaded: LoadedModel,
    heuristic: str,
    strategy: str,
    plain: bool = False,
    drop: bool = False,
) -> Callable[[Sequence[Ids]], Candidates]:
    """Returns the function that decodes a batch with a trace."""
    model, setting = loaded.model, _SETTINGS[heuristic]
    passes = (StaticPasses if plain else DynamicPasses)(model)

    @tf.function(
        autograph=False, input_signature=[tf.TensorSpec([None, None], tf.int32)]
    )
    def decode(source_ids):
        cache, logits = model.start(source_ids)
        lengths = length_beam(logits, _LENGTH_BEAM.value)
        unmasking = Unmasking(
            HEURISTICS[heuristic](setting),
            STRATEGIES[strategy](),
            _MAX_ITERATIONS,
            drop_losing_candidates=drop,
            forbid_repeats=_FORBID_REPEATS.value,
            trace=True,
        )
        return unmask_candidates(
            passes.predict_fn(cache, _LENGTH_BEAM.value),
            lengths,
            unmasking,
            mask_id=MASK_ID,
            pad_id=PAD_ID,
            length=tf.reduce_max(lengths) + _PADDING if plain else None,
        )

    shapes = BatchShapes(_BATCH_SIZE.value, model.config.max_length, static=False)
    return lambda sources: as_arrays(decode(shapes.pad(sources)))


def _by_sentence(
    decode: Callable, sources: Sequence[Ids], batch_size: int
) -> Iterator[Candidates]:
    """Yields each sentence's part of the results."""
    for start in range(0, len(sources), batch_size):
        batch = sources[start : start + batch_size]
        result = decode(batch)
        for row in range(len(batch)):
            yield tf.nest.map_structure(lambda x, row=row: x[row], result)


def _differences(
    ours: Sequence[Candidates], others: Iterator[Candidates], compare: Callable
) -> Iterator[dict]:
    """Yields where two ways differ; raises unless it is a near-tie."""
    for number, (one, other) in enumerate(zip(ours, others, strict=True)):
        near_tie = compare(one, other)
        if near_tie is None:
            continue
        if near_tie["gap"] > _TOLERANCE:
            raise UserError(f"sentence {number + 1}: {near_tie}")
        yield {"sentence": number + 1, **near_tie}


def _difference(one: Candidates, other: Candidates) -> dict | None:
    """Returns the first pass that differs, with the widest gap of its scores."""
    if (one.lengths != other.lengths).any():
        return {"what": "lengths", "gap": float("inf")}
    for candidate, length in enumerate(one.lengths):
        traces = [
            UnmaskTrace(*(field[candidate, :, :length] for field in result.trace))
            for result in (one, other)
        ]
        # What was decoded beside a longer sentence repeats its last pass for longer.
        passes = min(len(trace.mask) for trace in traces)
        traces = [UnmaskTrace(*(field[:passes] for field in t)) for t in traces]
        same = [(x == y).all(-1) for x, y in zip(*traces, strict=True)]
        differs = np.flatnonzero(~(same[0] & same[2]))  # tokens and mask
        if len(differs):
            gap = np.abs(traces[0].log_probs - traces[1].log_probs)[differs[0]].max()
            where = {"candidate": candidate, "pass": int(differs[0]) + 1}
            return {"what": "pass", **where, "gap": float(gap)}
    if (one.num_iterations != other.num_iterations).any():
        return {"what": "iterations", "gap": float("inf")}
    return _winners_differ(one, other)


def _winners_differ(one: Candidates, other: Candidates) -> dict | None:
    """Compares what is selected, of candidates that both have finished."""
    if one.best == other.best:
        return None
    gap = abs(one.scores[one.best] - other.scores[other.best])
    return {"what": "winner", "gap": float(gap)}


if __name__ == "__main__":
    cli.run(main)
