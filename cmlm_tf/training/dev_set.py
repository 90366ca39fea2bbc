"""Measures a model on held-out text while it is trained."""

import itertools
from collections.abc import Callable, Sequence

import ml_collections
import sacrebleu
import tensorflow as tf

from cmlm_tf.data.corpora import Corpus
from cmlm_tf.training.callbacks import InterruptCheck, Interrupts
from cmlm_tf.training.steps import TrainingModel
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions

TranslateFn = Callable[[Sequence[str]], list[str]]

#: Sentences translated between two looks for an interrupt.
_CHUNK = 128


class DevSet:
    """Batches for the loss, always with the same masks, and text for BLEU."""

    def __init__(
        self,
        dataset: tf.data.Dataset,
        corpus: Corpus,
        num_sentences: int,
        target_language: str,
        interrupts: Interrupts,
    ):
        """Takes the data.

        Args:
            dataset: finite, of batches with decoder inputs.
            corpus: the same text.
            num_sentences: how many of the first sentences are translated for
                BLEU; with 0 there is no BLEU.
            target_language: code such as `de`; decides SacreBLEU's tokeniser.
            interrupts: looked at between batches.
        """
        # Keras warns of a dataset that ends unless it knows where.
        size = sum(1 for _ in dataset)
        self._dataset = dataset.apply(tf.data.experimental.assert_cardinality(size))
        self._interrupts = interrupts
        self._pairs = list(itertools.islice(corpus, num_sentences))
        self._tokenizer = "zh" if target_language == "zh" else "13a"

    def evaluate(
        self, training: TrainingModel, translate_fn: TranslateFn
    ) -> dict[str, float]:
        """Measures the weights as they are.

        Args:
            training: the model.
            translate_fn: translates lines with that model.

        Returns:
            `loss`, the means of `training.terms`, and `bleu`, 0 to 100.

        Raises:
            KeyboardInterrupt: a signal came.
        """
        check = InterruptCheck(self._interrupts)
        training.evaluate(self._dataset, callbacks=[check], verbose=0)
        means = training.means()
        scores = {"loss": training.objective(means)}
        scores |= {name: means[name] for name in training.terms}
        return scores | self._bleu(translate_fn)

    def _bleu(self, translate_fn: TranslateFn) -> dict[str, float]:
        if not self._pairs:
            return {}
        sources, references = zip(*self._pairs, strict=True)
        hypotheses: list[str] = []
        for start in range(0, len(sources), _CHUNK):
            self._interrupts.check()
            hypotheses += translate_fn(sources[start : start + _CHUNK])
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
