"""Measures quality and speed of a translator at one setting after another."""

import time
from collections.abc import Sequence
from typing import Any

from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.evaluation.bleu import chrf, sacre_bleu
from cmlm_tf.evaluation.speed import tokens_per_iteration
from cmlm_tf.evaluation.table import QualitySpeedRow
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from cmlm_tf.translate.translator import Translator

_WARM_UP_SENTENCES = 8


class Sweep:
    """Decodes a test set at one setting after another.

    Times leave out tracing and compiling: for each kind of graph the translator
    first translates a few sentences, or with XLA, which compiles for every shape,
    the whole set.
    """

    def __init__(
        self,
        translator: Translator,
        sources: Sequence[str],
        references: Sequence[str],
        num_resamples: int = 0,
    ):
        """Takes a translator and a test set.

        Args:
            translator: of a student or a teacher.
            sources: the test set's source side.
            references: one for each source.
            num_resamples: bootstrap resamples for BLEU's interval; 0 for none.
        """
        self._translator, self._num_resamples = translator, num_resamples
        self._sources, self._references = sources, references
        self._warm: set[Any] = set()

    def measure(self, options: UnmaskingOptions | BeamOptions) -> QualitySpeedRow:
        """Returns the row of the table for one setting."""
        self._warm_up(options)
        start = time.perf_counter()
        translations = self._translator.translate(self._sources, options)
        seconds = time.perf_counter() - start
        hypotheses = [translation.text for translation in translations]
        language = self._translator.loaded.target_language
        texts = hypotheses, self._references
        bleu = sacre_bleu(*texts, language, self._num_resamples)
        system, setting = describe(options)
        speed = tokens_per_iteration(translations)
        return QualitySpeedRow(
            system=system,
            setting=setting,
            bleu=bleu.value,
            bleu_ci=bleu.confidence,
            chrf=chrf(*texts).value,
            tokens_per_iteration=speed.slowest,
            tokens_per_iteration_selected=speed.selected,
            tokens_per_iteration_summed=speed.summed,
            sentences_per_second=len(translations) / seconds,
        )

    def _warm_up(self, options: UnmaskingOptions | BeamOptions) -> None:
        kind = getattr(options, "heuristic", getattr(options, "beam_size", None))
        if kind not in self._warm:
            most = None if self._translator.xla else _WARM_UP_SENTENCES
            self._translator.translate(self._sources[:most], options)
            self._warm.add(kind)


def describe(options: UnmaskingOptions | BeamOptions) -> tuple[str, str]:
    """Names the system and its setting for the table.

    >>> describe(UnmaskingOptions("fixed_k", 3))
    ('fixed_k', 'K=3')
    >>> describe(BeamOptions(beam_size=1))
    ('teacher', 'greedy')
    """
    if isinstance(options, BeamOptions):
        size = options.beam_size
        return "teacher", "greedy" if size == 1 else f"beam {size}"
    symbol = HEURISTICS[options.heuristic].symbol
    return options.heuristic, f"{symbol}={options.setting:g}"
