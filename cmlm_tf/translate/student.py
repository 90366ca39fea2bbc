"""Translates by iterative decoding."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from cmlm_tf.decoding.candidates import Candidates, unmask_candidates
from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.decoding.lengths import length_beam, oracle_lengths
from cmlm_tf.decoding.loop import Unmasking
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import LoadedModel
from cmlm_tf.modeling.passes import DynamicPasses, Passes, StaticPasses
from cmlm_tf.modeling.student import ConditionalMaskedLM, SourceCache
from cmlm_tf.special_ids import MASK_ID, PAD_ID
from cmlm_tf.translate.graphs import as_arrays
from cmlm_tf.translate.options import UnmaskingOptions
from cmlm_tf.translate.results import Candidate
from cmlm_tf.translate.translator import Ids, Translator

#: Of so few, starting a compiled function takes longer than computing a few
#: positions in vain: their target length is guessed, to have one function, not two.
_FEW_SENTENCES = 8


class StudentTranslator(Translator):
    """Iterative decoding with a conditional masked language model.

    Attributes:
        passes: how a pass of the model is computed.
    """

    model: ConditionalMaskedLM
    options_type = UnmaskingOptions

    def __init__(self, loaded: LoadedModel, **kwargs: Any):
        """Takes a loaded student; see `Translator`."""
        super().__init__(loaded, **kwargs)
        self.passes: Passes = DynamicPasses(self.model)
        if self._shapes.single:
            self.passes = StaticPasses.of_one_size(self.model)
        elif self._shapes.static:
            self.passes = StaticPasses(self.model)

    def decode_batch(
        self,
        sources: Sequence[Ids],
        options: UnmaskingOptions,
        lengths: Sequence[int] | None,
    ) -> Candidates:
        """Decodes one batch; see `Translator.decode_batch`."""
        longest = self.model.config.max_length
        if options.length_beam > longest:
            raise UserError(
                f"length_beam must be at most {longest}, the number of length "
                f"classes, not {options.length_beam}"
            )
        spread = min(options.oracle_spread, longest)
        options = dataclasses.replace(options, oracle_spread=spread)
        inputs = (
            self._shapes.pad(sources),
            None if lengths is None else self._shapes.pad_lengths(lengths),
            tf.constant(options.setting, tf.float32),
            tf.constant(options.max_iterations or longest, tf.int32),
        )
        if self._shapes.static and len(sources) > _FEW_SENTENCES:
            return self._in_two_steps(options, *inputs)
        if lengths is None:
            likely = max(map(len, sources)) * 5 // 4 + 3
        else:
            likely = max(lengths) + spread
        return self._in_one_step(options, inputs, min(likely, longest))

    def _in_one_step(
        self, options: UnmaskingOptions, inputs: tuple, likely_length: int
    ) -> Candidates:
        """Runs one function, and again if targets were longer than is likely."""
        decode = Decode(self.passes, _kind(options))
        length = self._shapes.static_length(likely_length)
        result = self._to_arrays(decode, *inputs, length)
        longest = result.lengths.max()
        if length is not None and longest > length:
            length = self._shapes.static_length(longest)
            result = self._to_arrays(decode, *inputs, length)
        return result

    def _in_two_steps(
        self,
        options: UnmaskingOptions,
        sources: tf.Tensor,
        references: tf.Tensor | None,
        *settings: tf.Tensor,
    ) -> Candidates:
        """Runs two functions; the first one says how long the targets are."""
        kind = _kind(options)
        start, unmask = Start(self.passes, kind), Unmask(self.passes, kind)
        cache, lengths = self._graphs.run(start, sources, references)
        length = self._shapes.static_length(int(lengths.numpy().max()))
        return self._to_arrays(unmask, cache, lengths, *settings, length)

    def _to_arrays(self, function: Any, *args: Any) -> Candidates:
        if function.kind.trace:  # It has no static shape.
            return as_arrays(self._graphs.run(function, *args))
        return self._graphs.run_to_arrays(function, *args)

    def collect(self, result: Candidates, num_sentences: int) -> list[list[Candidate]]:
        """Reads the candidates; see `Translator.collect`."""
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
            passes = _traced(result, *i)
            candidates[i[0]].append(
                Candidate(text, tuple(ids), score, iterations, passes)
            )
        # Stable, so that of equal scores the more probable length stays first.
        return [sorted(row, key=lambda c: -c.score) for row in candidates]


@dataclasses.dataclass(frozen=True)
class _Step:
    """A part of the decoding, and all that its graph depends on.

    Attributes:
        passes: of the student.
        kind: the options; what enters as a tensor does not count.
    """

    passes: Passes
    kind: UnmaskingOptions


class Start(_Step):
    """From sources to the cache and the target lengths."""

    def __call__(
        self, source_ids: tf.Tensor, references: tf.Tensor | None
    ) -> tuple[SourceCache, tf.Tensor]:
        """Encodes sources; takes the references' lengths, int32 `[batch]`, if given."""
        student, kind = self.passes.student, self.kind
        cache, logits = student.start(source_ids)
        if references is None:
            lengths = length_beam(logits, kind.length_beam)
        else:
            longest = student.config.max_length
            lengths = oracle_lengths(references, kind.oracle_spread, longest)
        return cache, tf.where(cache.valid[:, 0, tf.newaxis], lengths, 0)


class Unmask(_Step):
    """From the cache and the target lengths to all candidates."""

    def __call__(
        self,
        cache: SourceCache,
        lengths: tf.Tensor,
        setting: tf.Tensor,
        max_iterations: tf.Tensor,
        length: int | None,
    ) -> Candidates:
        """Unmasks what `Start` returns; a length is given for static shapes."""
        candidates = lengths.shape[1] or tf.shape(lengths)[1]
        unmasking = Unmasking(
            HEURISTICS[self.kind.heuristic](setting),
            STRATEGIES[self.kind.strategy](),
            max_iterations,
            drop_losing_candidates=self.kind.drop_losing_candidates,
            forbid_repeats=self.kind.forbid_repeats,
            trace=self.kind.trace,
        )
        return unmask_candidates(
            self.passes.predict_fn(cache, candidates),
            lengths,
            unmasking,
            mask_id=MASK_ID,
            pad_id=PAD_ID,
            length=length,
        )


class Decode(_Step):
    """From sources to all candidates."""

    def __call__(
        self, source_ids: tf.Tensor, references: tf.Tensor | None, *rest: Any
    ) -> Candidates:
        """Calls `Start` and `Unmask`, which say what the arguments are."""
        cache, lengths = Start(self.passes, self.kind)(source_ids, references)
        return Unmask(self.passes, self.kind)(cache, lengths, *rest)


def _kind(options: UnmaskingOptions) -> UnmaskingOptions:
    """Returns what a graph depends on: what enters as a tensor makes no new one."""
    setting = HEURISTICS[options.heuristic].default
    return dataclasses.replace(options, setting=setting, max_iterations=None)


def _traced(
    result: Candidates, row: int, candidate: int
) -> tuple[dict[str, list], ...]:
    """Returns each pass of a candidate, if there is a trace."""
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
