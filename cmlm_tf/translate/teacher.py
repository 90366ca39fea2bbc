"""Translates by greedy or beam search."""

import dataclasses
from collections.abc import Sequence

import tensorflow as tf

from cmlm_tf.decoding.beam_search import (
    Beam,
    BeamResult,
    beam_search,
    longest_hypothesis,
)
from cmlm_tf.modeling.output import ban
from cmlm_tf.modeling.teacher import AutoregressiveTransformer, StepCache
from cmlm_tf.special_ids import BOS_ID, EOS_ID, PAD_ID
from cmlm_tf.translate.options import BeamOptions
from cmlm_tf.translate.results import Candidate
from cmlm_tf.translate.translator import Ids, Translator


class TeacherTranslator(Translator):
    """Greedy or beam search with an autoregressive Transformer."""

    model: AutoregressiveTransformer
    options_type = BeamOptions

    def decode_batch(
        self,
        sources: Sequence[Ids],
        options: BeamOptions,
        lengths: Sequence[int] | None,
    ) -> BeamResult:
        """Decodes one batch; see `Translator.decode_batch`."""
        source_ids = self._shapes.pad(sources)
        return self._graphs.run_to_arrays(
            BeamDecoder(self.model, options.beam_size),
            source_ids,
            tf.constant(options.length_penalty, tf.float32),
            None if lengths is None else self._shapes.pad_lengths(lengths),
            self._shapes.static_limit(source_ids),
        )

    def collect(self, result: BeamResult, num_sentences: int) -> list[list[Candidate]]:
        """Reads the hypotheses; see `Translator.collect`."""
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


@dataclasses.dataclass(frozen=True)
class BeamDecoder:
    """From sources to the best hypotheses; a beam of one is greedy search.

    Attributes:
        teacher: the model.
        beam_size: hypotheses kept per sentence.
    """

    teacher: AutoregressiveTransformer
    beam_size: int

    def __call__(
        self,
        source_ids: tf.Tensor,
        alpha: float | tf.Tensor,
        limits: tf.Tensor | None = None,
        static_length: int | None = None,
    ) -> BeamResult:
        """Translates sources.

        Args:
            source_ids: int32 `[batch, sources]`, each ends in EOS, PAD behind.
            alpha: exponent of the length penalty.
            limits: int32 `[batch]`, the most subwords of each hypothesis; None
                derives them from the sources' lengths.
            static_length: the most subwords of any hypothesis where all shapes
                must be static (XLA).

        Returns:
            The best hypothesis of every sentence.
        """
        teacher = self.teacher
        source_lengths = tf.reduce_sum(tf.cast(source_ids != PAD_ID, tf.int32), axis=1)
        longest = static_length or teacher.config.max_length - 1
        max_steps = None
        if static_length is not None:
            # A GPU's matrix products want a multiple of eight of what hypotheses see.
            max_steps = -(-(static_length + 1) // 8) * 8
        if limits is None:
            limits = longest_hypothesis(source_lengths)
        limits = tf.where(source_lengths > 0, tf.minimum(limits, longest), 0)

        def step(
            ids: tf.Tensor, time: tf.Tensor, ancestors: tf.Tensor, cache: StepCache
        ) -> tuple[tf.Tensor, StepCache]:
            growing = max_steps is None
            logits, cache = teacher.step(ids, time, ancestors, cache, growing)
            return ban(logits, teacher.banned_ids), cache

        cache = teacher.start(source_ids, self.beam_size, max_steps)
        beam = Beam(self.beam_size, alpha, BOS_ID, EOS_ID, PAD_ID)
        return beam_search(step, cache, limits, beam, max_steps)
