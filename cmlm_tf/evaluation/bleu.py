"""Corpus-level quality: SacreBLEU, chrF and tokenised BLEU."""

import dataclasses
import importlib.util
import re
from collections.abc import Sequence

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.base import Metric

from cmlm_tf.errors import UserError

NUM_RESAMPLES = 1000


@dataclasses.dataclass(frozen=True)
class CorpusScore:
    """A metric's value over a whole test set.

    Attributes:
        value: the score, from 0 to 100.
        confidence: half the width of the 95 % bootstrap interval, or None
            where nothing was resampled.
        signature: SacreBLEU's record of how the score was computed.
    """

    value: float
    confidence: float | None
    signature: str

    def __str__(self) -> str:
        """Returns the value with its interval."""
        if self.confidence is None:
            return f"{self.value:.2f}"
        return f"{self.value:.2f} ± {self.confidence:.2f}"


def sacre_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    target_language: str = "",
    num_resamples: int = 0,
) -> CorpusScore:
    """Computes BLEU on raw text with SacreBLEU's tokenisation.

    Args:
        hypotheses: the translations, not tokenised.
        references: one reference for each hypothesis, not tokenised.
        target_language: two-letter code; "zh" chooses the zh tokenisation,
            everything else 13a.
        num_resamples: bootstrap resamples for the interval; 0 for none. The
            seed is SacreBLEU's and stands in the signature.

    Returns:
        The score, equal in every run.

    Raises:
        UserError: there is no sentence, or the numbers differ.

    >>> print(sacre_bleu(["Der Hund schläft heute."], ["Der Hund schläft heute."]))
    100.00
    """
    metric = BLEU(tokenize="zh" if target_language == "zh" else "13a")
    return _corpus_score(metric, hypotheses, references, num_resamples)


def chrf(
    hypotheses: Sequence[str], references: Sequence[str], num_resamples: int = 0
) -> CorpusScore:
    """Computes chrF2, the character n-gram F-score; arguments as `sacre_bleu`.

    >>> chrf(["Hund"], ["Hund"]).value
    100.0
    """
    return _corpus_score(_Chrf(), hypotheses, references, num_resamples)


class _Chrf(CHRF):
    """chrF whose resamples are all of one type, as SacreBLEU's mean wants them."""

    def _compute_score_from_stats(self, stats):
        score = super()._compute_score_from_stats(stats)
        score.score = float(score.score)  # float32, but float where nothing matches
        return score


def tokenized_bleu(
    hypotheses: Sequence[str], references: Sequence[str], target_language: str
) -> CorpusScore:
    """Computes the tokenised BLEU of Vaswani et al. (2017).

    Both sides are tokenised as by Moses; German compounds are split at their
    hyphens; then BLEU is taken over words without smoothing. It is higher than
    SacreBLEU and comparable only with other figures of this kind.

    Args:
        hypotheses: the translations, not tokenised.
        references: one reference for each hypothesis, not tokenised.
        target_language: two-letter code, for Moses's abbreviations.

    Returns:
        The score, without interval.

    Raises:
        UserError: sacremoses is not installed, there is no sentence, or the
            numbers differ.
    """
    if not has_moses():
        raise UserError("tokenised BLEU needs sacremoses: pip install sacremoses")
    import sacremoses

    tokenizer = sacremoses.MosesTokenizer(lang=target_language)

    def tokenize(line: str) -> str:
        words = tokenizer.tokenize(line, return_str=True)
        return split_compounds(words) if target_language == "de" else words

    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    outputs, targets = list(map(tokenize, hypotheses)), list(map(tokenize, references))
    return _corpus_score(metric, outputs, targets, num_resamples=0)


def has_moses() -> bool:
    """Tells whether the extra for tokenised BLEU is installed."""
    return importlib.util.find_spec("sacremoses") is not None


def split_compounds(line: str) -> str:
    """Splits words at their hyphens, as published en-de scores did.

    >>> split_compounds("das rich-text Format - gut")
    'das rich ##AT##-##AT## text Format - gut'
    """
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", line)


def _corpus_score(
    metric: Metric,
    hypotheses: Sequence[str],
    references: Sequence[str],
    num_resamples: int,
) -> CorpusScore:
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} hypotheses for {len(references)} references"
        )
    if not hypotheses:
        raise UserError("there is no sentence to score")
    score = metric.corpus_score(hypotheses, [references], n_bootstrap=num_resamples)
    confidence = float(score._ci) if num_resamples > 1 else None
    return CorpusScore(float(score.score), confidence, str(metric.get_signature()))
