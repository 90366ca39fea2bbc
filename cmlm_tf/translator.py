"""Text in, translations out."""

import abc
import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from absl import logging

from cmlm_tf.data.long_lines import split_line
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.decoding.lengths import length_beam, oracle_lengths
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import LoadedModel, load_model
from cmlm_tf.modeling.student import ConditionalMaskedLM
from cmlm_tf.modeling.teacher import AutoregressiveTransformer
from cmlm_tf.options import BeamOptions, UnmaskingOptions
from cmlm_tf.search import search_sentences, unmask_sentences
from cmlm_tf.shapes import BatchShapes
from cmlm_tf.translation import Candidate, Translation

Ids = Sequence[int]


class Translator(abc.ABC):
    """Translates lines with the model of a directory.

    Attributes:
        loaded: the model and its description.
        xla: whether it is compiled, for each shape anew.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        sentences_per_batch: int = 64,
        xla: bool | None = None,
    ):
        """Takes a loaded model.

        Args:
            loaded: the model and its subword model's file.
            sentences_per_batch: the most sentences decoded side by side; of
                long ones there are fewer.
            xla: whether to compile for a small set of static shapes; None does
                so where there is a GPU.
        """
        if xla is None:
            xla = bool(tf.config.list_physical_devices("GPU"))
        self.loaded, self.xla = loaded, xla
        self.subwords = SubwordModel(loaded.subword_path)
        self.model = loaded.model
        self._shapes = BatchShapes(
            sentences_per_batch, loaded.model.config.max_length, static=xla
        )
        self._functions: dict[Any, Callable] = {}

    def translate(
        self,
        lines: Sequence[str],
        options: Any = None,
        references: Sequence[str] | None = None,
    ) -> list[Translation]:
        """Translates lines, one translation for each, in order.

        A line longer than the model allows is split, its parts translated and
        joined; one warning counts such lines.

        Args:
            lines: source text; empty and blank lines give empty translations.
            options: `UnmaskingOptions` or `BeamOptions`, by the model.
            references: target text whose lengths to use (oracle lengths), one
                for each line; a teacher's hypotheses are no longer than them.

        Returns:
            The translations.

        Raises:
            UserError: options that do not fit the model.
        """
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
        left = iter(candidates)
        return [Translation.join([next(left) for _ in part]) for part in parts]

    @abc.abstractmethod
    def search(
        self, sources: Sequence[Ids], options: Any, lengths: Sequence[int] | None
    ) -> Any:
        """Decodes one batch on the device.

        Args:
            sources: subword ids, without EOS, none empty.
            options: as for `translate`.
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
        return self.collect(self.search(sources, options, lengths), len(sources))

    def _encode(self, lines: Sequence[str]) -> list[list[Ids]]:
        """Returns the parts of each line: none if blank, several if too long."""
        room = self.model.config.max_length - 1

        def count(texts: Sequence[str]) -> list[int]:
            return [len(ids) for ids in self.subwords.encode(texts)]

        parts: list[list[Ids]] = []
        num_split = 0
        for line, ids in zip(lines, self.subwords.encode(lines), strict=True):
            if len(ids) <= room:
                parts.append([ids] if ids else [])
                continue
            num_split += 1
            split = self.subwords.encode(split_line(line, room, count))
            parts.append([ids for ids in split if ids])
        if num_split:
            logging.warning(
                "%d of %d lines are longer than the model's %d subwords and were "
                "translated in parts",
                num_split,
                len(lines),
                room,
            )
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

    def _function(self, key: Any, make: Callable[[], Callable]) -> Callable:
        """Returns the compiled function of these options, made once."""
        if key not in self._functions:
            static = self._shapes.static
            self._functions[key] = tf.function(
                make(),
                autograph=False,
                jit_compile=static,
                reduce_retracing=not static,
            )
        return self._functions[key]


class StudentTranslator(Translator):
    """Iterative decoding with a conditional masked language model."""

    model: ConditionalMaskedLM

    def search(self, sources, options, lengths):
        """Decodes one batch; see `Translator.search`."""
        options = options or UnmaskingOptions()
        if options.length_beam > self.model.config.max_length:
            raise UserError(
                f"length_beam must be at most {self.model.config.max_length}, the "
                f"number of length classes, not {options.length_beam}"
            )
        cache, candidate_lengths = self._start(options, lengths is not None)(
            self._shapes.pad(sources),
            None if lengths is None else self._shapes.pad_lengths(lengths),
        )
        longest = self.model.config.max_length
        result = self._unmask(options, candidate_lengths.shape[1])(
            cache,
            candidate_lengths,
            tf.constant(options.setting, tf.float32),
            tf.constant(options.max_iterations or longest, tf.int32),
            self._shapes.static_length(candidate_lengths),
        )
        return as_arrays(result)

    def _start(self, options: UnmaskingOptions, oracle: bool) -> Callable:
        """Returns the function from sources to the cache and the lengths."""

        def start(source_ids, references):
            cache, logits = self.model.start(source_ids)
            if references is None:
                lengths = length_beam(logits, options.length_beam)
            else:
                longest = self.model.config.max_length
                lengths = oracle_lengths(references, options.oracle_spread, longest)
            return cache, tf.where(cache.valid[:, :1], lengths, 0)

        spread = options.oracle_spread if oracle else None
        key = ("start", options.length_beam, spread)
        return self._function(key, lambda: start)

    def _unmask(self, options: UnmaskingOptions, num_candidates: int) -> Callable:
        """Returns the function from lengths to all candidates."""

        def unmask(cache, lengths, setting, max_iterations, static_length):
            return unmask_sentences(
                self.model,
                cache,
                lengths,
                HEURISTICS[options.heuristic](setting),
                STRATEGIES[options.strategy](),
                max_iterations=max_iterations,
                static_length=static_length,
                drop_losing_candidates=options.drop_losing_candidates,
                trace=options.trace,
            )

        # What is a tensor, or enters before this function, makes no new one.
        kind = dataclasses.replace(
            options, setting=1, max_iterations=None, length_beam=1, oracle_spread=0
        )
        return self._function((kind, num_candidates), lambda: unmask)

    def collect(self, result, num_sentences):
        """Reads a `StudentResult`; see `Translator.collect`."""
        kept = [
            (row, c)
            for row in range(num_sentences)
            for c in range(result.lengths.shape[1])
            if result.lengths[row, c]
        ]
        tokens = [result.token_ids[i][: result.lengths[i]].tolist() for i in kept]
        candidates: list[list[Candidate]] = [[] for _ in range(num_sentences)]
        for i, ids, text in zip(
            kept, tokens, self.subwords.decode(tokens), strict=True
        ):
            score, iterations = float(result.scores[i]), int(result.num_iterations[i])
            passes = self._passes(result, *i)
            candidates[i[0]].append(
                Candidate(text, tuple(ids), score, iterations, passes)
            )
        # Stable, so that of equal scores the more probable length stays first.
        return [sorted(row, key=lambda c: -c.score) for row in candidates]

    @staticmethod
    def _passes(result, row: int, candidate: int) -> tuple[dict[str, list], ...]:
        if result.trace is None:
            return ()
        length = result.lengths[row, candidate]
        count = result.num_iterations[row, candidate]
        return tuple(
            {
                name: field[row, candidate, step, :length].tolist()
                for name, field in result.trace._asdict().items()
            }
            for step in range(count)
        )


class TeacherTranslator(Translator):
    """Greedy or beam search with an autoregressive Transformer."""

    model: AutoregressiveTransformer

    def search(self, sources, options, lengths):
        """Decodes one batch; see `Translator.search`."""
        options = options or BeamOptions()
        source_ids = self._shapes.pad(sources)
        result = self._search(options.beam_size)(
            source_ids,
            tf.constant(options.length_penalty, tf.float32),
            None if lengths is None else self._shapes.pad_lengths(lengths),
            self._shapes.static_limit(source_ids),
        )
        return as_arrays(result)

    def collect(self, result, num_sentences):
        """Reads a `BeamResult`; see `Translator.collect`."""
        tokens = [
            result.token_ids[row, : result.lengths[row]].tolist()
            for row in range(num_sentences)
        ]
        return [
            [Candidate(text, tuple(ids), float(score), len(ids) + 1)]
            for text, ids, score in zip(
                self.subwords.decode(tokens), tokens, result.scores, strict=False
            )
        ]

    def _search(self, beam_size: int) -> Callable:
        """Returns the function from sources to the best hypotheses."""

        def search(source_ids, alpha, limits, static_length):
            return search_sentences(
                self.model,
                source_ids,
                limits=limits,
                beam_size=beam_size,
                alpha=alpha,
                static_length=static_length,
            )

        return self._function(beam_size, lambda: search)


def load_translator(
    model_dir: str | os.PathLike[str], dtype: str = "float32", **kwargs
) -> Translator:
    """Loads a model directory and returns the translator that fits it.

    Args:
        model_dir: the folder.
        dtype: `float32` or `bfloat16`.
        **kwargs: for `Translator`.

    Raises:
        UserError: where the directory is no model or damaged.
    """
    return make_translator(load_model(Path(model_dir), dtype), **kwargs)


def make_translator(loaded: LoadedModel, **kwargs) -> Translator:
    """Returns the translator that fits a loaded model."""
    kind = StudentTranslator if loaded.role == "student" else TeacherTranslator
    return kind(loaded, **kwargs)


def as_arrays(result: Any) -> Any:
    """Returns the same structure with numpy arrays for tensors."""
    return tf.nest.map_structure(lambda x: x if x is None else x.numpy(), result)
