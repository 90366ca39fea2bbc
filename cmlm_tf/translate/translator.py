"""What the translators of student and teacher have alike: text in, text out."""

import abc
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from cmlm_tf.data.long_lines import split_line
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import LoadedModel
from cmlm_tf.modeling.packed_weights import PackedWeights, pack
from cmlm_tf.translate.batches import BatchShapes
from cmlm_tf.translate.results import Candidate, Translation

Ids = Sequence[int]


class Translator(abc.ABC):
    """Translates lines with the model of a directory.

    Attributes:
        loaded: the model and its description.
        xla: whether it is compiled, for each shape anew.
        options_type: the class of its options.
    """

    options_type: type

    def __init__(
        self,
        loaded: LoadedModel,
        sentences_per_batch: int = 64,
        xla: bool | None = None,
        deterministic: bool = False,
        frozen: bool = True,
    ):
        """Takes a loaded model.

        Args:
            loaded: the model and its subword model's file.
            sentences_per_batch: the most sentences decoded side by side; of
                long ones there are fewer.
            xla: whether to compile for a small set of static shapes; None does
                so where there is a GPU.
            deterministic: whether all batches have one shape, so that a
                translation and its score are the same to the last bit whatever
                stands beside it; slower.
            frozen: whether the weights stay as they are from now on, but for
                what `refresh` takes over.
        """
        if xla is None:
            xla = bool(tf.config.list_physical_devices("GPU"))
        self.loaded, self.xla = loaded, xla
        self.subwords = SubwordModel(loaded.subword_path)
        if self.subwords.sha256 != loaded.subword_sha256:
            raise UserError(f"{loaded.subword_path}: changed since it was first read")
        size = loaded.model.config.vocab_size
        if self.subwords.vocab_size != size:
            raise UserError(
                f"{loaded.subword_path}: {self.subwords.vocab_size} subwords, but the "
                f"model has {size}"
            )
        self.model = loaded.model
        # Its own: other translators of the model have theirs, or none.
        embedding = self.model.embedding
        self._output_table = embedding.output_copy() if frozen and not xla else None
        self._packed_weights = PackedWeights(self.model) if frozen and xla else None
        self._shapes = BatchShapes(
            sentences_per_batch,
            loaded.model.config.max_length,
            static=xla or deterministic,
            single=deterministic,
        )
        self._functions: dict[Any, Callable] = {}
        self._layouts: dict[Any, Any] = {}

    def refresh(self) -> None:
        """Takes over weights that were changed; the embedding must not be."""
        if self._packed_weights:
            self._packed_weights.copy()

    def translate(
        self,
        lines: Sequence[str],
        options: Any = None,
        references: Sequence[str] | None = None,
        warn: bool = True,
    ) -> list[Translation]:
        """Translates lines, one translation for each, in order.

        A line longer than the model allows is split, its parts translated and
        joined; one warning counts such lines.

        Args:
            lines: source text; empty and blank lines give empty translations.
            options: of `options_type`, or None for the defaults.
            references: target text whose lengths to use (oracle lengths), one
                for each line; a teacher's hypotheses are no longer than them.
            warn: whether to warn of lines that were split.

        Returns:
            The translations.

        Raises:
            UserError: options of another model, or a string for a list.
        """
        if isinstance(lines, str):
            raise UserError("translate takes a list of lines, not one string")
        parts = self._encode(lines)
        lengths = self._reference_lengths(references, parts)
        sources = [ids for line_parts in parts for ids in line_parts]
        candidates: list[list[Candidate]] = [[] for _ in sources]
        for batch in self._shapes.batches([len(ids) for ids in sources]):
            results = self.decode_ids(
                [sources[i] for i in batch],
                options,
                None if lengths is None else [lengths[i] for i in batch],
            )
            for i, result in zip(batch, results, strict=True):
                candidates[i] = result
        if warn:
            self.warn_of_split(sum(len(part) > 1 for part in parts), len(parts))
        left = iter(candidates)
        return [Translation.join([next(left) for _ in part]) for part in parts]

    def warn_of_split(self, num_split: int, num_lines: int) -> None:
        """Warns that so many of so many lines were translated in parts, if any."""
        if num_split:
            logging.warning(
                "%d of %d lines are longer than the model's %d subwords and were "
                "translated in parts",
                num_split,
                num_lines,
                self.model.config.max_length - 1,
            )

    @abc.abstractmethod
    def search(
        self, sources: Sequence[Ids], options: Any, lengths: Sequence[int] | None
    ) -> Any:
        """Decodes one batch on the device.

        Args:
            sources: subword ids, without EOS, none empty.
            options: of `options_type`.
            lengths: reference lengths in subwords, or None; of a teacher's
                hypotheses they are the most subwords.

        Returns:
            The structure of arrays that `collect` reads.
        """

    @abc.abstractmethod
    def collect(self, result: Any, num_sentences: int) -> list[list[Candidate]]:
        """Turns a batch's arrays into each sentence's candidates, best first."""

    def decode_ids(
        self,
        sources: Sequence[Ids],
        options: Any = None,
        lengths: Sequence[int] | None = None,
    ) -> list[list[Candidate]]:
        """Decodes one batch; see `search` and `collect`."""
        options = self.options_type() if options is None else options
        if not isinstance(options, self.options_type):
            raise UserError(
                f"a {self.loaded.role} takes {self.options_type.__name__}, "
                f"not {type(options).__name__}"
            )
        return self.collect(self.search(sources, options, lengths), len(sources))

    def _encode(self, lines: Sequence[str]) -> list[list[Ids]]:
        """Returns the parts of each line: none if blank, several if too long."""
        room = self.model.config.max_length - 1

        def count(texts: Sequence[str]) -> list[int]:
            return [len(ids) for ids in self.subwords.encode(texts)]

        parts: list[list[Ids]] = []
        for line, ids in zip(lines, self.subwords.encode(lines), strict=True):
            if len(ids) <= room:
                parts.append([ids] if ids and line.strip() else [])
                continue
            split = self.subwords.encode(split_line(line, room, count))
            # One character, or two parts joined, can be more subwords than there is
            # room for.
            starts = ((ids, i) for ids in split for i in range(0, len(ids), room))
            parts.append([ids[i : i + room] for ids, i in starts])
        return parts

    def _reference_lengths(
        self, references: Sequence[str] | None, parts: Sequence[Sequence[Ids]]
    ) -> list[int] | None:
        """Returns a length for each part; parts of a line share its length."""
        if references is None:
            return None
        if len(references) != len(parts):
            raise UserError(
                f"{len(references)} references for {len(parts)} source lines"
            )
        longest = self.model.config.max_length
        lengths = []
        for ids, part in zip(self.subwords.encode(references), parts, strict=True):
            share = -(-len(ids) // max(len(part), 1))
            lengths += [min(max(share, 1), longest)] * len(part)
        return lengths

    def _run(self, key: Any, function: Callable, *args: Any) -> Any:
        """Runs a function as a graph, made for each static shape or once for all.

        Args:
            key: names what the function depends on beside its arguments.
            function: taken when the key is new.
            *args: nested tensors, None and numbers.
        """
        if key not in self._functions:
            function = self._bind(function)
            graph = tf.function(function, autograph=False, jit_compile=self.xla)
            if not self._shapes.static:
                specs = tf.nest.map_structure(_of_any_size, args)
                graph.get_concrete_function(*specs)
            self._functions[key] = graph
        return self._functions[key](*args)

    def _run_to_arrays(self, key: Any, function: Callable, *args: Any) -> Any:
        """Runs a function likewise; returns its tensors as numpy arrays.

        Compiled, they come as one: a copy from a GPU takes as long as some kernels.

        Args:
            key: as of `_run`.
            function: returns nested int32 and float32 tensors and None; of static
                shapes if compiled.
            *args: as of `_run`.
        """
        if not self.xla:
            return as_arrays(self._run(key, function, *args))

        def joined(*args):
            result = function(*args)
            self._layouts[key, _shapes(args)] = _Layout(result)
            tensors = [x for x in tf.nest.flatten(result) if x is not None]
            return pack([tf.bitcast(x, tf.int32) for x in tensors])

        vector = self._run(key, joined, *args).numpy()
        return self._layouts[key, _shapes(args)].unpack(vector)

    def _bind(self, function: Callable) -> Callable:
        """Returns the same function, which reads this translator's copies."""
        if self._packed_weights:
            function = self._packed_weights.bind(function)

        @functools.wraps(function)
        def bound(*args):
            with self.model.embedding.reading(self._output_table):
                return function(*args)

        return bound


def _of_any_size(value: Any) -> Any:
    if not tf.is_tensor(value):
        return value
    return tf.TensorSpec([None] * value.shape.rank, value.dtype)


def _shapes(args: Any) -> tuple:
    """Returns what a trace depends on: the shapes of tensors, and all else itself."""
    return tuple(x.shape if tf.is_tensor(x) else x for x in tf.nest.flatten(args))


class _Layout:
    """Where tensors of static shape lie in a vector, one behind the other."""

    def __init__(self, tensors: Any):
        """Takes nested tensors, of 32 bits an element, and None."""
        self._structure = tf.nest.map_structure(lambda _: None, tensors)
        self._parts: list[tuple[slice, Any, tuple] | None] = []
        end = 0
        for x in tf.nest.flatten(tensors):
            if x is None:
                self._parts.append(None)
                continue
            start, end = end, end + x.shape.num_elements()
            dtype = x.dtype.as_numpy_dtype
            self._parts.append((slice(start, end), dtype, tuple(x.shape)))

    def unpack(self, vector: np.ndarray) -> Any:
        """Returns the structure with the vector's parts, int32, as they were."""

        def array(part):
            place, dtype, shape = part
            return vector[place].view(dtype).reshape(shape)

        arrays = [part and array(part) for part in self._parts]
        return tf.nest.pack_sequence_as(self._structure, arrays)


def as_arrays(result: Any) -> Any:
    """Returns the same structure with numpy arrays for tensors."""
    return tf.nest.map_structure(lambda x: x if x is None else x.numpy(), result)
