"""The few shapes for which a served model is compiled."""

from collections.abc import Sequence

import tensorflow as tf

from cmlm_tf.decoding.candidates import Candidates
from cmlm_tf.modeling.packed_weights import PackedWeights
from cmlm_tf.modeling.passes import StaticPasses
from cmlm_tf.modeling.student import ConditionalMaskedLM, SourceCache
from cmlm_tf.serving.engine import Engine
from cmlm_tf.serving.requests import Request
from cmlm_tf.special_ids import MASK_ID, PAD_ID
from cmlm_tf.translate.batches import LENGTHS

#: Sentences side by side; more than the last are rounded up to a multiple of it.
BATCH_SIZES = (1, 8, 64)
#: Length candidates; more than the last are as many as the export allows.
BEAMS = (1, 5)


class CompiledEngine(Engine):
    """Decodes with shapes from a small set, as suits XLA, a GPU and a TPU.

    What a request brings is padded, inside the graph, to the next shape of the set,
    and the results are cut back. One length holds for sources and targets alike.

    Attributes:
        weights: see `Engine`; a copy in few vectors where the graph asks for XLA.
        functions: the compiled parts by the alias under which a SavedModel names them.
    """

    def __init__(
        self,
        student: ConditionalMaskedLM,
        continuing_ids: Sequence[int],
        jit_compile: bool,
        max_length_beam: int,
    ):
        """Takes the model.

        Args:
            student: the model.
            continuing_ids: see `Engine`.
            jit_compile: whether the graph asks for XLA itself; on a TPU the
                converter does that for the functions that it finds by alias.
            max_length_beam: the most length candidates.
        """
        super().__init__(student, continuing_ids, StaticPasses(student))
        longest = student.config.max_length
        self.lengths = (*(n for n in LENGTHS if n < longest), longest)
        self.beams = (*(n for n in BEAMS if n < max_length_beam), max_length_beam)
        packed = PackedWeights(student) if jit_compile else None
        if packed:
            self.weights = list(packed.vectors.values())

        def bind(function):
            return packed.bind(function) if packed else function

        def make(function):
            return tf.function(
                bind(function), autograph=False, jit_compile=jit_compile or None
            )

        self._unmask_uncompiled = bind(Engine(student, continuing_ids).unmask)
        self.functions = {
            "cmlm_start": make(student.start),
            "cmlm_translate": make(self._translate),
            "cmlm_complete": make(self._complete),
            "cmlm_score": make(self._score),
        }

    def start(self, source_ids: tf.Tensor) -> tuple[SourceCache, tf.Tensor]:
        """Encodes the sources; see `Engine.start`. The cache stays padded."""
        batch, length = tf.unstack(tf.shape(source_ids))
        shape = [_batch_size(batch), _next(self.lengths, length)]
        cache, logits = self.functions["cmlm_start"](_pad(source_ids, shape))
        return cache, logits[:batch]

    def unmask(
        self,
        cache: SourceCache,
        lengths: tf.Tensor,
        request: Request,
        initial_ids: tf.Tensor | None = None,
        begins_word: tf.Tensor | None = None,
        forced_ids: tf.Tensor | None = None,
        trace: bool = False,
    ) -> Candidates:
        """Decodes every length candidate; see `Engine.unmask`.

        A trace is not compiled: its size depends on the passes.
        """
        batch, candidates = tf.unstack(tf.shape(lengths))
        longest = tf.reduce_max(lengths)
        if trace:
            cache = tf.nest.map_structure(lambda x: x[:batch], cache)
            return self._unmask_uncompiled(cache, lengths, request, trace=True)
        rows, sources = tf.unstack(tf.shape(cache.valid))
        length = _next(self.lengths, tf.maximum(longest, sources))
        shape = [rows, _next(self.beams, candidates), length]
        memory = tf.nest.map_structure(
            lambda x: _pad(x, [rows, x.shape[1], length, x.shape[3]]), cache.memory
        )
        cache = SourceCache(memory, _pad(cache.valid, [rows, length]))
        padded = Request(*(_pad(value, shape[:1], 1) for value in request))
        inputs = [cache, _pad(lengths, shape[:2]), padded]
        if forced_ids is not None:
            name, inputs = "cmlm_score", [*inputs, _pad(forced_ids, shape)]
        elif initial_ids is not None:
            given = [_pad(grid, shape) for grid in (initial_ids, begins_word)]
            name, inputs = "cmlm_complete", [*inputs, *given]
        else:
            name, inputs = "cmlm_translate", [*inputs, tf.fill(shape, MASK_ID)]
        result = self.functions[name](*inputs)
        return _cut(result, batch, candidates, longest)

    def _translate(self, cache, lengths, request, initial_ids) -> Candidates:
        return super().unmask(cache, lengths, request, initial_ids)

    def _complete(
        self, cache, lengths, request, initial_ids, begins_word
    ) -> Candidates:
        return super().unmask(cache, lengths, request, initial_ids, begins_word)

    def _score(self, cache, lengths, request, forced_ids) -> Candidates:
        return super().unmask(cache, lengths, request, forced_ids=forced_ids)


def _next(sizes: Sequence[int], size: tf.Tensor) -> tf.Tensor:
    """Returns the smallest of the sizes that is large enough, or else the last."""
    fitting = tf.where(tf.constant(sizes) >= size, tf.constant(sizes), sizes[-1])
    return tf.reduce_min(fitting)


def _batch_size(size: tf.Tensor) -> tf.Tensor:
    largest = BATCH_SIZES[-1]
    rounded_up = -(-size // largest) * largest
    return tf.where(size > largest, rounded_up, _next(BATCH_SIZES, size))


def _pad(x: tf.Tensor, shape: Sequence, value: int = PAD_ID) -> tf.Tensor:
    """Pads behind the end of each axis."""
    missing = tf.stack(list(shape)) - tf.shape(x)
    paddings = tf.stack([tf.zeros_like(missing), missing], axis=1)
    if value:
        return tf.pad(x, paddings, constant_values=tf.cast(value, x.dtype))
    return tf.pad(x, paddings)


def _cut(result: Candidates, batch, candidates, length) -> Candidates:
    """Cuts the padding off all results."""

    def cut(x):
        if x is None:
            return None
        x = x[:batch] if x.shape.rank == 1 else x[:batch, :candidates]
        return x[:, :, :length] if x.shape.rank == 3 else x

    return Candidates(*(cut(field) for field in result))
