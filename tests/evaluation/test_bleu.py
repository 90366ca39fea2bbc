"""Tests of cmlm_tf.evaluation.bleu."""

import math
import random

import pytest

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation import bleu
from tests.evaluation.oracle import corpus_bleu

_WORDS = "der die das Hund Katze Haus sieht kauft rot blau heute nicht".split()


def _noisy_corpus(seed, num_sentences):
    """Sentences of plain words, and copies with words changed or lost."""
    rng = random.Random(seed)
    references = [
        rng.choices(_WORDS, k=rng.randint(1, 14)) for _ in range(num_sentences)
    ]
    hypotheses = [
        [rng.choice(_WORDS) if rng.random() < 0.2 else word for word in reference]
        for reference in references
    ]
    hypotheses = [words[: rng.choice([len(words), 9])] for words in hypotheses]
    hypotheses[0] = []  # An empty translation counts as wrong.
    return hypotheses, references


def _texts(sentences):
    return [" ".join(words) for words in sentences]


@pytest.mark.parametrize("seed", range(5))
def test_sacre_bleu_equals_the_oracle(seed):
    hypotheses, references = _noisy_corpus(seed, num_sentences=50)
    score = bleu.sacre_bleu(_texts(hypotheses), _texts(references))
    expected = corpus_bleu(hypotheses, references)
    assert 0 < expected < 100
    assert math.isclose(score.value, expected, rel_tol=1e-9)


def test_signature_names_the_tokenisation():
    german = bleu.sacre_bleu(["Ja"], ["Ja"], "de").signature
    chinese = bleu.sacre_bleu(["是的"], ["是的"], "zh").signature
    assert "|tok:13a|" in german and "|tok:zh|" in chinese
    assert "version:" in german and "case:mixed" in german


def test_chinese_is_scored_by_characters():
    # 13a sees one wrong token; zh sees six characters, of which five are right.
    hypotheses, references = ["我们今天去吗"], ["我们今天去吧"]
    tokens = [[list(line) for line in lines] for lines in (hypotheses, references)]
    score = bleu.sacre_bleu(hypotheses, references, "zh")
    assert math.isclose(score.value, corpus_bleu(*tokens), rel_tol=1e-9)
    assert bleu.sacre_bleu(hypotheses, references, "de").value == 0.0


def test_intervals():
    """Equal in every run, narrower for more text, 0 for equal texts, on demand."""
    small, again, large = (
        bleu.sacre_bleu(*map(_texts, _noisy_corpus(1, size)), "de", num_resamples=100)
        for size in (40, 40, 500)
    )
    assert small == again
    assert 0 < large.confidence < small.confidence / 2
    assert "bs:100|" in small.signature and "seed:" in small.signature
    assert str(small) == f"{small.value:.2f} ± {small.confidence:.2f}"
    lines = ["der Hund sieht das Haus"] * 10
    assert bleu.sacre_bleu(lines, lines, num_resamples=20).confidence == 0.0
    score = bleu.sacre_bleu(["Ja"], ["Nein"])
    assert score.confidence is None and "bs:" not in score.signature


def test_chrf_by_hand():
    # chrF2 of "ab" for "abc" without spaces: precisions 2/2 and 1/1, recalls 2/3
    # and 1/2, averaged over the orders that the hypothesis has.
    precision, recall = (1 + 1) / 2, (2 / 3 + 1 / 2) / 2
    expected = 100 * 5 * precision * recall / (4 * precision + recall)
    assert math.isclose(bleu.chrf(["ab"], ["abc"]).value, expected, rel_tol=1e-9)


@pytest.mark.parametrize("score", [bleu.sacre_bleu, bleu.chrf])
def test_mismatched_or_empty_input(score):
    with pytest.raises(UserError, match="2 hypotheses for 1 references"):
        score(["a", "b"], ["a"])
    with pytest.raises(UserError, match="no sentence"):
        score([], [])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("E-Mail-Programm", "E ##AT##-##AT## Mail ##AT##-##AT## Programm"),
        # The replacement consumes the letter between two hyphens, as in Perl.
        ("a-b-c", "a ##AT##-##AT## b-c"),
        ("Ost- und Westdeutschland", "Ost- und Westdeutschland"),
        ("gut - sehr gut, -5", "gut - sehr gut, -5"),
    ],
)
def test_split_compounds(line, expected):
    assert bleu.split_compounds(line) == expected


_COMPOUND = "Das E ##AT##-##AT## Mail ##AT##-##AT## {} ist leer ."


@pytest.mark.parametrize(
    ("language", "line", "tokens", "words"),
    [
        ("de", "Das E-Mail-{} ist leer.", _COMPOUND, ("Fach", "Amt")),
        ("en", "a well-known {} dog.", "a well-known {} dog .", ("small", "big")),
        # Abbreviations keep their full stop.
        (
            *("de", "Herr Dr. Maier kommt z.B. {}.", "Herr Dr. Maier kommt z.B. {} ."),
            ("heute", "morgen"),
        ),
        # No match of some order is zero.
        ("de", "der {}", "der {}", ("Hund", "Hund")),
    ],
)
def test_tokenized_bleu(language, line, tokens, words):
    pytest.importorskip("sacremoses")
    lines, split = ([[form.format(word)] for word in words] for form in (line, tokens))
    score = bleu.tokenized_bleu(*lines, language)
    expected = corpus_bleu(*([text.split()] for (text,) in split))
    assert math.isclose(score.value, expected, rel_tol=1e-9)


def test_tokenized_bleu_without_the_extra(monkeypatch):
    monkeypatch.setattr(bleu, "has_moses", lambda: False)
    with pytest.raises(UserError, match="sacremoses"):
        bleu.tokenized_bleu(["a"], ["a"], "de")


def test_chrf_of_resamples_some_of_which_match_nothing():
    score = bleu.chrf(["aaaa", "xyz"], ["bbbb", "xyz"], num_resamples=100)
    assert 0 < score.value < 100
    assert score.confidence == pytest.approx(50.0)
