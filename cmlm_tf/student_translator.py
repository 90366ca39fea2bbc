"""Translates by iterative decoding."""

import dataclasses
from collections.abc import Callable

import tensorflow as tf

from cmlm_tf.base_translator import Translator, as_arrays
from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.decoding.lengths import length_beam, oracle_lengths
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.student import ConditionalMaskedLM
from cmlm_tf.options import UnmaskingOptions
from cmlm_tf.search import unmask_sentences
from cmlm_tf.translation import Candidate


class StudentTranslator(Translator):
    """Iterative decoding with a conditional masked language model."""

    model: ConditionalMaskedLM
    options_type = UnmaskingOptions

    def search(self, sources, options, lengths):
        """Decodes one batch; see `Translator.search`."""
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
        longest = self.model.config.max_length
        spread = min(options.oracle_spread, longest)

        def start(source_ids, references):
            cache, logits = self.model.start(source_ids)
            if references is None:
                lengths = length_beam(logits, options.length_beam)
            else:
                lengths = oracle_lengths(references, spread, longest)
            return cache, tf.where(cache.valid[:, :1], lengths, 0)

        key = ("start", options.length_beam, spread if oracle else None)
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
