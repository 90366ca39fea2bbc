"""Translates by iterative decoding."""

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.decoding.lengths import length_beam, oracle_lengths
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.student import ConditionalMaskedLM
from cmlm_tf.translate.options import UnmaskingOptions
from cmlm_tf.translate.results import Candidate
from cmlm_tf.translate.search import StudentResult, unmask_sentences
from cmlm_tf.translate.translator import Translator, as_arrays

#: Of so few, starting a compiled function takes longer than computing a few
#: positions in vain: their target length is guessed, to have one function, not two.
_FEW_SENTENCES = 8


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
        longest = self.model.config.max_length
        options = dataclasses.replace(
            options, oracle_spread=min(options.oracle_spread, longest)
        )
        inputs = (
            self._shapes.pad(sources),
            None if lengths is None else self._shapes.pad_lengths(lengths),
            tf.constant(options.setting, tf.float32),
            tf.constant(options.max_iterations or longest, tf.int32),
        )
        if self._shapes.static and len(sources) > _FEW_SENTENCES:
            return self._in_two_steps(options, inputs)
        if lengths is None:
            likely = max(map(len, sources)) * 5 // 4 + 3
        else:
            likely = max(lengths) + options.oracle_spread
        return self._in_one_step(options, inputs, min(likely, longest))

    def _in_one_step(
        self, options: UnmaskingOptions, inputs: Any, likely_length: int
    ) -> StudentResult:
        """Runs one function, and again if targets were longer than is likely."""
        start, unmask = self._start(options), self._unmask(options)

        def decode(source_ids, references, setting, max_iterations, static_length):
            cache, lengths = start(source_ids, references)
            return unmask(cache, lengths, setting, max_iterations, static_length)

        key = ("decode", _kind(options), inputs[1] is None)
        static_length = self._shapes.static_length(likely_length)
        run = self._runner(options)
        result = run(key, decode, *inputs, static_length)
        longest = result.lengths.max()
        if static_length is not None and longest > static_length:
            static_length = self._shapes.static_length(longest)
            result = run(key, decode, *inputs, static_length)
        return result

    def _in_two_steps(self, options: UnmaskingOptions, inputs: Any) -> StudentResult:
        """Runs two functions; the first one says how long the targets are."""
        sources, references, *settings = inputs
        kind = _kind(options)
        start, unmask = self._start(options), self._unmask(options)
        cache, lengths = self._run(("start", kind), start, sources, references)
        length = self._shapes.static_length(int(lengths.numpy().max()))
        run = self._runner(options)
        return run(("unmask", kind), unmask, cache, lengths, *settings, length)

    def _runner(self, options: UnmaskingOptions) -> Callable:
        """Returns what runs a function to arrays; a trace has no static shape."""
        if options.trace:
            return lambda *args: as_arrays(self._run(*args))
        return self._run_to_arrays

    def _start(self, options: UnmaskingOptions) -> Callable:
        """Returns the function from sources to the cache and the lengths."""
        longest = self.model.config.max_length

        def start(source_ids, references):
            cache, logits = self.model.start(source_ids)
            if references is None:
                lengths = length_beam(logits, options.length_beam)
            else:
                lengths = oracle_lengths(references, options.oracle_spread, longest)
            return cache, tf.where(cache.valid[:, 0, tf.newaxis], lengths, 0)

        return start

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
                one_size=self._shapes.single,
                drop_losing_candidates=options.drop_losing_candidates,
                forbid_repeats=options.forbid_repeats,
                trace=options.trace,
            )

        return unmask

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


def _kind(options: UnmaskingOptions) -> UnmaskingOptions:
    """Returns what a graph depends on: what enters as a tensor makes no new one."""
    setting = HEURISTICS[options.heuristic].default
    return dataclasses.replace(options, setting=setting, max_iterations=None)
