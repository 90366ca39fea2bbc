"""The functions that a server offers, each from named tensors to named tensors."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from cmlm_tf.decoding.candidates import Candidates
from cmlm_tf.modeling.student import ConditionalMaskedLM
from cmlm_tf.serving.checks import after, require
from cmlm_tf.serving.completion import Gaps, read_gaps
from cmlm_tf.serving.engine import Engine, asked_lengths
from cmlm_tf.serving.requests import (
    OPTIONS,
    Request,
    option_defaults,
    option_specs,
    read_request,
)
from cmlm_tf.serving.text import Encoded, ServedSubwords
from cmlm_tf.translate.calibration import SpeedTable

Tensors = dict[str, tf.Tensor]


class ServedStudent:
    """Translates, completes and scores; every method is a signature.

    All take `options`, the optional inputs of `requests.OPTIONS`, and return
    tensors whose first axis is the batch. Scores are float32 natural logs.
    """

    def __init__(
        self,
        student: ConditionalMaskedLM,
        subwords: ServedSubwords,
        engine: Engine,
        max_length_beam: int,
        tables: Sequence[SpeedTable] = (),
    ):
        """Takes what serves.

        Args:
            student: the model.
            subwords: its subword model.
            engine: decodes with it.
            max_length_beam: the most length candidates of a text.
            tables: the calibration.
        """
        self.max_length_beam, self.tables = max_length_beam, tables
        self.subwords, self.engine = subwords, engine
        self.max_length = student.config.max_length
        # What signatures have in common is traced once.
        self._read = tf.function(self._read_text, autograph=False)
        self._request = tf.function(self._read_options, autograph=False)
        self._start = tf.function(engine.start, autograph=False)
        self._decode = tf.function(self._decode_source, autograph=False)

    def translate(self, text: tf.Tensor, options: Tensors) -> Tensors:
        """Translates texts, string `[batch]`."""
        return self._with_text(self._decode(*self._read(text, options)))

    def nbest(self, text: tf.Tensor, options: Tensors) -> Tensors:
        """Returns all length candidates of each text, best first."""
        result = self._decode(*self._read(text, options))
        scores, order = tf.math.top_k(result.scores, tf.shape(result.scores)[1])
        ids, lengths, iterations = (
            tf.gather(x, order, batch_dims=1)
            for x in (result.token_ids, result.lengths, result.num_iterations)
        )
        # [batch, candidates, length] -> [rows, length]
        rows = tf.reshape(ids, [-1, tf.shape(ids)[2]])
        texts = self.subwords.decode(rows, tf.reshape(lengths, [-1]))
        return {
            "translation": tf.reshape(texts, tf.shape(order)),
            "score": scores,
            "iterations": iterations,
            "length": lengths,
        }

    def decode_ids(self, ids: tf.Tensor, options: Tensors) -> Tensors:
        """Translates subword ids, int32 `[batch, length]`, PAD behind the end."""
        ids = _not_empty(ids, "ids")
        request = self._request(tf.shape(ids)[0], options)
        source = self.subwords.check_ids(ids, "ids", self.max_length - 1)
        result = self._decode(source, request)
        return {"ids": _best(result, result.token_ids), **_summary(result)}

    def trace(self, text: tf.Tensor, options: Tensors) -> Tensors:
        """Translates, and returns every pass of the best candidate."""
        source, request = self._read(text, options)
        result = self._decode(source, request, trace=True)
        passes = _best(result, result.num_iterations)
        assert result.trace is not None
        traced = {
            name: self._of_fixed_size(_best(result, field))
            for name, field in result.trace._asdict().items()
        }
        return {**self._with_text(result), "passes": passes, **traced}

    def complete(
        self, text: tf.Tensor, partial: tf.Tensor, options: Tensors
    ) -> Tensors:
        """Translates texts into partly given targets, both string `[batch]`."""
        source, request = self._read(text, options)
        partial = _of_same_size(partial, "partial", text)
        gaps = read_gaps(self.subwords, partial, "partial", self.max_length)
        has_target = gaps.num_given + gaps.num_gaps > 0
        check = require(
            (source.lengths > 0) | ~has_target, "text: blank, but partial is not"
        )
        cache, logits = self._start(source.with_end())
        is_empty = after([check], ~has_target)
        lengths = asked_lengths(gaps.possible(logits), is_empty, request)
        result = self.engine.unmask(
            *(cache, lengths, request),
            initial_ids=gaps.initial_ids(lengths),
            begins_word=gaps.begins_word(lengths),
        )
        return self._completed(result, gaps)

    def score(
        self, text: tf.Tensor, translation: tf.Tensor, options: Tensors
    ) -> Tensors:
        """Scores given translations of texts, both string `[batch]`."""
        source, request = self._read(text, options)
        translation = _of_same_size(translation, "translation", text)
        target = self.subwords.encode(translation, "translation", self.max_length)
        has_both = (source.lengths > 0) & (target.lengths > 0)
        lengths = tf.where(has_both, target.lengths, 0)
        cache, logits = self._start(source.with_end())
        forced_ids = target.ids[:, tf.newaxis, : tf.reduce_max(lengths)]
        result = self.engine.unmask(
            cache, lengths[:, tf.newaxis], request, forced_ids=forced_ids
        )
        length_log_prob = tf.gather(
            tf.nn.log_softmax(logits), tf.maximum(lengths - 1, 0), batch_dims=1
        )
        # Nothing is the translation of nothing, and of nothing else.
        otherwise = tf.where(source.lengths == target.lengths, 0.0, float("-inf"))
        log_prob = length_log_prob + tf.reduce_sum(result.log_probs[:, 0], axis=1)
        return {
            "log_prob": tf.where(has_both, log_prob, otherwise),
            "length_log_prob": tf.where(has_both, length_log_prob, otherwise),
            "score": tf.where(has_both, result.scores[:, 0], otherwise),
            "iterations": result.num_iterations[:, 0],
            "length": target.lengths,
        }

    def _read_text(self, text: tf.Tensor, options: Tensors) -> tuple[Encoded, Request]:
        text = _not_empty(text, "text")
        request = self._request(tf.size(text), options)
        return self.subwords.encode(text, "text", self.max_length - 1), request

    def _read_options(self, size: tf.Tensor, options: Tensors) -> Request:
        return read_request(size, options, self.max_length_beam, self.tables)

    def _decode_source(
        self, source: Encoded, request: Request, trace: bool = False
    ) -> Candidates:
        cache, logits = self._start(source.with_end())
        lengths = asked_lengths(logits, source.lengths == 0, request)
        return self.engine.unmask(cache, lengths, request, trace=trace)

    def _with_text(self, result: Candidates) -> Tensors:
        lengths = _best(result, result.lengths)
        text = self.subwords.decode(_best(result, result.token_ids), lengths)
        return {"translation": text, **_summary(result)}

    def _completed(self, result: Candidates, gaps: Gaps) -> Tensors:
        ids, lengths = _best(result, result.token_ids), _best(result, result.lengths)
        summary = _summary(result)
        summary["score"] = tf.where(gaps.num_gaps > 0, summary["score"], 0.0)
        return {"translation": gaps.join(self.subwords, ids, lengths), **summary}

    def _of_fixed_size(self, x: tf.Tensor) -> tf.Tensor:
        """Repeats the last pass and pads: `[batch, max_length, max_length]`.

        Where no row has a pass, zeros or False stand for one.
        """
        has_none = tf.cast(tf.shape(x)[1] == 0, tf.int32)
        x = tf.pad(x, [[0, 0], [0, has_none], [0, 0]])
        missing = self.max_length - tf.shape(x)
        last = tf.tile(x[:, -1:], [1, missing[1], 1])
        x = tf.concat([x, last], axis=1)
        x = tf.pad(x, [[0, 0], [0, 0], [0, missing[2]]])
        return tf.ensure_shape(x, [None, self.max_length, self.max_length])


def _best(result: Candidates, values: tf.Tensor) -> tf.Tensor:
    """Picks the best candidate: `[batch, candidates, ...]` to `[batch, ...]`."""
    return tf.gather(values, result.best, batch_dims=1)


def _summary(result: Candidates) -> Tensors:
    """Returns score, iterations and length of each row; zeros where it is blank."""
    length = _best(result, result.lengths)
    return {
        "score": tf.where(length > 0, _best(result, result.scores), 0.0),
        "iterations": tf.reduce_max(result.num_iterations, axis=1),
        "length": length,
    }


def _not_empty(values: tf.Tensor, name: str) -> tf.Tensor:
    check = require(tf.shape(values)[0] > 0, f"{name}: the batch is empty")
    return after([check], values)


def _of_same_size(values: tf.Tensor, name: str, text: tf.Tensor) -> tf.Tensor:
    same = tf.size(values) == tf.size(text)
    return after([require(same, f"{name}: must hold one string a text")], values)


def make_signatures(served: ServedStudent) -> dict[str, Any]:
    """Returns the signatures by name; what is optional has its default."""
    text = tf.TensorSpec([None], tf.string, name="text")
    ids = tf.TensorSpec([None, None], tf.int32, name="ids")
    partial = tf.TensorSpec([None], tf.string, name="partial")
    translation = tf.TensorSpec([None], tf.string, name="translation")
    translate = _with_options(served.translate, text)
    return {
        "serving_default": translate,
        "nbest": _with_options(served.nbest, text),
        "trace": _with_options(served.trace, text),
        "decode_ids": _with_options(served.decode_ids, ids),
        "complete": _with_options(served.complete, text, partial),
        "score": _with_options(served.score, text, translation),
        "text_only": tf.function(
            lambda text: translate(text), autograph=False, input_signature=[text]
        ),
    }


def _with_options(function: Callable, *own: tf.TensorSpec) -> Any:
    """Returns the graph of a function of its own inputs and the options.

    A loaded SavedModel has them under their names, and by place in this order.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(spec.name, kind) for spec in own] + [
        inspect.Parameter(name, kind, default=value)
        for name, value in option_defaults().items()
    ]

    def signature(*values):
        options = zip(OPTIONS, values[len(own) :], strict=True)
        return function(*values[: len(own)], dict(options))

    # Where tf.function looks for the names of the arguments and their defaults.
    signature.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    specs = [*own, *option_specs().values()]
    return tf.function(signature, autograph=False, input_signature=specs)
