"""What the translators of student and teacher have alike: text in, text out."""

import abc
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf
from absl import logging

from cmlm_tf.data.long_lines import split_line
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import LoadedModel
from cmlm_tf.modeling.packed_weights import PackedWeights
from cmlm_tf.translate.batches import BatchShapes
from cmlm_tf.translate.graphs import Graphs
from cmlm_tf.translate.lines import read_options, read_strings
from cmlm_tf.translate.results import Candidate, Translation

Ids = Sequence[int]


class Translator(abc.ABC):
    """Translates lines with the model of a directory; see `translate`.

    Attributes:
        loaded: the model and its description.
        xla: whether it is compiled, once for each shape.
        options_type: the class of its options, `UnmaskingOptions` for a student,
            `BeamOptions` for a teacher.
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
        self._graphs = Graphs(self._shapes.static, xla, self._bind)

    def refresh(self) -> None:
        """Takes over weights that were changed; the embedding must not be."""
        if self._packed_weights:
            self._packed_weights.copy()

    def translate(
        self,
        lines: Iterable[str],
        options: Any = None,
        references: Iterable[str] | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
        warn: bool = True,
        **fields: Any,
    ) -> list[Translation]:
        """Translates lines, one translation for each, in order.

            translator.translate(["Where is the key?"])
            translator.translate(lines, heuristic="fixed_k", setting=3)
            translator.translate(lines, UnmaskingOptions("thresh", 0.5))

        A line longer than the model allows is split, its parts translated and
        joined; one warning counts such lines.

        Args:
            lines: source text, a list or another iterable of strings; empty and
                blank lines give empty translations.
            options: how to decode, of `options_type`: one for all lines, or an
                iterable with one for each; None for the defaults. Lines of equal
                options are translated together.
            references: target text whose lengths to use (oracle lengths), one
                for each line; a teacher's hypotheses are no longer than them.
            progress: called with the number of lines done and of all lines, at the
                start and after each batch.
            warn: whether to warn of lines that were split.
            **fields: fields of `UnmaskingOptions` or `BeamOptions` by name, in place
                of those of `options`.

        Returns:
            The translations, with text, score, iterations and all candidates.

        Raises:
            UserError: something else than strings, named by its place; options
                that the model does not take; references or options not as many as
                lines.
        """
        lines = read_strings("lines", lines)
        by_line = read_options(self.options_type, options, fields, len(lines))
        parts = self._encode(lines)
        lengths = self._reference_lengths(references, parts)
        sources = [ids for line_parts in parts for ids in line_parts]
        line_of = [i for i, line_parts in enumerate(parts) for _ in line_parts]
        part_options = [by_line[i] for i in line_of]
        candidates: list[list[Candidate]] = [[] for _ in sources]
        left = [len(line_parts) for line_parts in parts]
        num_done = left.count(0)
        if progress:
            progress(num_done, len(lines))
        for batch in self._batches(sources, part_options):
            results = self.decode_ids(
                [sources[i] for i in batch],
                part_options[batch[0]],
                None if lengths is None else [lengths[i] for i in batch],
            )
            for i, result in zip(batch, results, strict=True):
                candidates[i] = result
                left[line_of[i]] -= 1
                num_done += left[line_of[i]] == 0
            if progress:
                progress(num_done, len(lines))
        if warn:
            self.warn_of_split(sum(len(part) > 1 for part in parts), len(parts))
        in_order = iter(candidates)
        return [Translation.join([next(in_order) for _ in part]) for part in parts]

    def warn_of_split(self, num_split: int, num_lines: int) -> None:
        """Warns of the number of lines that were translated in parts, if any."""
        if num_split:
            logging.warning(
                "%d of %d lines are longer than the model's %d subwords and were "
                "translated in parts",
                num_split,
                num_lines,
                self.model.config.max_length - 1,
            )

    @abc.abstractmethod
    def decode_batch(
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
        options: Any,
        lengths: Sequence[int] | None = None,
    ) -> list[list[Candidate]]:
        """Decodes one batch; see `decode_batch` and `collect`."""
        return self.collect(self.decode_batch(sources, options, lengths), len(sources))

    def _batches(
        self, sources: Sequence[Ids], options: Sequence[Any]
    ) -> Iterator[list[int]]:
        """Yields numbers of sources of equal options and like length."""
        groups: dict[Any, list[int]] = {}
        for number, value in enumerate(options):
            groups.setdefault(value, []).append(number)
        for numbers in groups.values():
            for batch in self._shapes.batches([len(sources[i]) for i in numbers]):
                yield [numbers[i] for i in batch]

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
        self, references: Iterable[str] | None, parts: Sequence[Sequence[Ids]]
    ) -> list[int] | None:
        """Returns a length for each part; parts of a line share its length."""
        if references is None:
            return None
        references = read_strings("references", references)
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

    def _bind(self, function: Callable) -> Callable:
        """Returns the same function, which reads this translator's copies."""
        if self._packed_weights:
            function = self._packed_weights.bind(function)

        def bound(*args: Any) -> Any:
            with self.model.embedding.reading(self._output_table):
                return function(*args)

        return bound
