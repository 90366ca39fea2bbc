"""Measures a model on held-out text while it is trained."""

import dataclasses
from collections.abc import Sequence

import ml_collections
import sacrebleu
import tensorflow as tf

from cmlm_tf.training.interrupts import Interrupts
from cmlm_tf.training.training_model import TrainingModel
from cmlm_tf.translate.loading import Translator
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions


@dataclasses.dataclass(frozen=True)
class DevSet:
    """Batches for the loss, always with the same masks, and text for BLEU.

    Attributes:
        dataset: finite, of batches with decoder inputs.
        pairs: source and target texts for BLEU; without any there is none.
        target_language: code such as `de`; decides SacreBLEU's tokeniser.
        translator: of the model that is trained.
        options: how it translates.
        interrupts: looked at between batches.
    """

    dataset: tf.data.Dataset
    pairs: Sequence[tuple[str, str]]
    target_language: str
    translator: Translator
    options: BeamOptions | UnmaskingOptions
    interrupts: Interrupts

    def evaluate(self, training: TrainingModel) -> dict[str, float]:
        """Measures the weights as they are.

        Args:
            training: the model.

        Returns:
            `loss`, the means of the objective's terms, and `bleu`, 0 to 100.

        Raises:
            KeyboardInterrupt: a signal came.
        """
        means = training.evaluate(self.dataset, self.interrupts.check)
        scores = {name: means[name] for name in training.objective.terms}
        return {"loss": training.loss(means)} | scores | self._bleu()

    def _bleu(self) -> dict[str, float]:
        if not self.pairs:
            return {}
        sources, references = zip(*self.pairs, strict=True)
        translations = self.translator.translate(
            sources, self.options, progress=lambda *_: self.interrupts.check()
        )
        score = sacrebleu.corpus_bleu(
            [translation.text for translation in translations],
            [list(references)],
            tokenize="zh" if self.target_language == "zh" else "13a",
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
