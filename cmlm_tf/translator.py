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


class Translator(abc.ABC):
    """Translates lines with the model of a directory."""

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
        self.loaded = loaded
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
        on_progress: Callable[[int], None] = lambda count: None,
    ) -> list[Translation]:
        """Translates lines, one translation for each, in order.

        A line longer than the model allows is split, its parts translated and
        joined; one warning counts such lines.

        Args:
            lines: source text; empty and blank lines give empty translations.
            options: `UnmaskingOptions` or `BeamOptions`, by the model.
            references: target text whose lengths to use (oracle lengths), one
                for each line; students only.
            on_progress: called with the number of sentences just finished.

        Returns:
            The translations.

        Raises:
            UserError: options that do not fit the model.
        """
        parts = [self._parts(line) for line in lines]
        self._warn_of_splits(parts)
        flat = [part for line_parts in parts for part in line_parts]
        lengths = self._reference_lengths(references, parts)
        ids = self.subwords.encode(flat)
        candidates: list[list[Candidate]] = [[] for _ in flat]
        for batch in self._shapes.batches([len(row) for row in ids]):
            results = self.decode_ids(
                [ids[i] for i in batch],
                options,
                None if lengths is None else [lengths[i] for i in batch],
            )
            for i, result in zip(batch, results, strict=True):
                candidates[i] = result
            on_progress(len(batch))
        left = iter(candidates)
        return [Translation.join([next(left) for _ in part]) for part in parts]

    @abc.abstractmethod
    def decode_ids(
        self,
        sources: Sequence[Sequence[int]],
        options: Any = None,
        lengths: Sequence[int] | None = None,
    ) -> list[list[Candidate]]:
        """Decodes one batch.

        Args:
            sources: subword ids, without EOS, none empty.
            options: as for `translate`.
            lengths: reference lengths in subwords, or None.

        Returns:
            For each source its candidates, best first.
        """

    def _parts(self, line: str) -> list[str]:
        def count(texts):
            return [len(ids) for ids in self.subwords.encode(list(texts))]

        room = self.model.config.max_length - 1
        parts = split_line(line, room, count)
        return [part for part in parts if count([part])[0]]

    def _warn_of_splits(self, parts: list[list[str]]) -> None:
        num_split = sum(len(part) > 1 for part in parts)
        if num_split:
            logging.warning(
                "%d of %d lines are longer than the model's %d subwords and were "
                "translated in parts",
                num_split,
                len(parts),
                self.model.config.max_length - 1,
            )

    def _reference_lengths(self, references, parts) -> list[int] | None:
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

    def _candidates_text(self, tokens: Sequence[Sequence[int]]) -> list[str]:
        return self.subwords.decode([list(ids) for ids in tokens])

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

    def decode_ids(self, sources, options=None, lengths=None):
        """Decodes one batch; see `Translator.decode_ids`."""
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
        result = self._unmask(options)(
            cache,
            candidate_lengths,
            tf.constant(options.setting, tf.float32),
            tf.constant(options.max_iterations or longest, tf.int32),
            self._shapes.static_length(candidate_lengths),
        )
        return self._collect(as_arrays(result), len(sources))

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

    def _unmask(self, options: UnmaskingOptions) -> Callable:
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
        key = dataclasses.replace(
            options, setting=1, max_iterations=None, length_beam=1, oracle_spread=0
        )
        return self._function(key, lambda: unmask)

    def _collect(self, result, num_sentences: int) -> list[list[Candidate]]:
        """Turns a batch's arrays into candidates, best first."""
        candidates = []
        for row in range(num_sentences):
            kept = [c for c in range(result.lengths.shape[1]) if result.lengths[row, c]]
            kept.sort(key=lambda c: (c != result.best[row], -result.scores[row, c]))
            tokens = [
                result.token_ids[row, c, : result.lengths[row, c]].tolist()
                for c in kept
            ]
            texts = self._candidates_text(tokens)
            candidates.append(
                [
                    Candidate(
                        text,
                        tuple(ids),
                        float(result.scores[row, c]),
                        int(result.num_iterations[row, c]),
                        self._passes(result, row, c),
                    )
                    for c, ids, text in zip(kept, tokens, texts, strict=True)
                ]
            )
        return candidates

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

    def decode_ids(self, sources, options=None, lengths=None):
        """Decodes one batch; see `Translator.decode_ids`."""
        options = options or BeamOptions()
        if lengths is not None:
            raise UserError("reference lengths need a student model")
        source_ids = self._shapes.pad(sources)
        result = self._search(options.beam_size)(
            source_ids,
            tf.constant(options.length_penalty, tf.float32),
            self._shapes.static_limit(source_ids),
        )
        result = tf.nest.map_structure(lambda x: x[: len(sources)], as_arrays(result))
        tokens = [
            ids[:length].tolist()
            for ids, length in zip(result.token_ids, result.lengths, strict=True)
        ]
        texts = self._candidates_text(tokens)
        return [
            [Candidate(text, tuple(ids), float(score), len(ids) + 1)]
            for text, ids, score in zip(texts, tokens, result.scores, strict=True)
        ]

    def _search(self, beam_size: int) -> Callable:
        """Returns the function from sources to the best hypotheses."""

        def search(source_ids, alpha, static_length):
            return search_sentences(
                self.model,
                source_ids,
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
