"""Measures a model on held-out text while it is trained."""

from collections.abc import Callable, Sequence

import ml_collections
import sacrebleu
import tensorflow as tf

from cmlm_tf.training.interrupts import Interrupts
from cmlm_tf.training.training_model import TrainingModel
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions

TranslateFn = Callable[[Sequence[str]], list[str]]

#: Sentences translated between two looks for an interrupt.
_CHUNK = 128


class DevSet:
    """Batches for the loss, always with the same masks, and text for BLEU."""

    def __init__(
        self,
        dataset: tf.data.Dataset,
        pairs: Sequence[tuple[str, str]],
        target_language: str,
        translate_fn: TranslateFn,
        interrupts: Interrupts,
    ):
        """Takes the data.

        Args:
            dataset: finite, of batches with decoder inputs.
            pairs: source and target texts for BLEU; without any there is none.
            target_language: code such as `de`; decides SacreBLEU's tokeniser.
            translate_fn: translates lines with the model that is trained.
            interrupts: looked at between batches.
        """
        self._dataset, self._pairs = dataset, pairs
        self._tokenizer = "zh" if target_language == "zh" else "13a"
        self._translate_fn, self._interrupts = translate_fn, interrupts

    def evaluate(self, training: TrainingModel) -> dict[str, float]:
        """Measures the weights as they are.

        Args:
            training: the model.

        Returns:
            `loss`, the means of the objective's terms, and `bleu`, 0 to 100.

        Raises:
            KeyboardInterrupt: a signal came.
        """
        means = training.evaluate(self._dataset, self._interrupts.check)
        scores = {name: means[name] for name in training.objective.terms}
        return {"loss": training.loss(means)} | scores | self._bleu()

    def _bleu(self) -> dict[str, float]:
        if not self._pairs:
            return {}
        sources, references = zip(*self._pairs, strict=True)
        hypotheses: list[str] = []
        for start in range(0, len(sources), _CHUNK):
            self._interrupts.check()
            hypotheses += self._translate_fn(sources[start : start + _CHUNK])
        score = sacrebleu.corpus_bleu(
            hypotheses, [list(references)], tokenize=self._tokenizer
        )
        return {"bleu": score.score}


def decoding_options(
    config: ml_collections.ConfigDict,
) -> BeamOptions | UnmaskingOptions:
    """Returns how dev sentences are translated; a teacher searches greedily."""
    if config.role == "teacher":
        return BeamOptions(beam_size=1)
    return UnmaskingOptions(
        heuristic=config.evaluation.heuristic,
        setting=config.evaluation.setting,
        length_beam=config.evaluation.length_beam,
    )
