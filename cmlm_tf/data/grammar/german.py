"""Puts a tree into German: one of its many translations."""

import random
import re

from cmlm_tf.data.grammar.german_clauses import FINAL, FIRST, SECOND, ClauseWriter
from cmlm_tf.data.grammar.german_phrases import Style
from cmlm_tf.data.grammar.modifiers import (
    COORDINATORS,
    QUESTION_WORDS,
    SUBORDINATORS,
)
from cmlm_tf.data.grammar.syntax import (
    Body,
    Clause,
    Command,
    Coordinate,
    Pronoun,
    Purpose,
    Question,
    Quotation,
    Report,
    Sentence,
    Shared,
    Statement,
    Subordinate,
)
from cmlm_tf.data.grammar.verbs import REPORT


def german(sentence: Sentence, rng: random.Random) -> str:
    """Returns a translation; `rng` draws what English leaves open.

    Args:
        sentence: what to say.
        rng: another state gives another translation, if there is one.
    """
    return SentenceWriter(rng, Style.draw(rng)).sentence(sentence)


class SentenceWriter(ClauseWriter):
    """Writes sentences in one style."""

    def sentence(self, sentence: Sentence) -> str:
        """Writes a sentence with its capital and its punctuation."""
        match sentence:
            case Statement(body):
                return _sentence(self._body(body, SECOND), ".")
            case Question(body, word):
                return _sentence(self._question(body, word), "?")
            case Command(clause):
                return _sentence(self.command(clause), self.choose("!."))
            case Quotation():
                return self._quotation(sentence)
        raise TypeError(sentence)

    def _question(self, body: Clause | Report, word: str) -> str:
        if isinstance(body, Clause) and body.subject == Pronoun("who"):
            return f"wer {self.without_subject(body, FIRST)}"
        start = self.choose(QUESTION_WORDS[word]) if word else ""
        return f"{start} {self._body(body, FIRST)}"

    def _quotation(self, quotation: Quotation) -> str:
        speech = self.sentence(quotation.speech)
        if quotation.speech_first:
            speaker = self._body(quotation.speaker, FIRST)
            return _sentence(f"„{speech.removesuffix('.')}“, {speaker}", ".")
        return _sentence(f"{self._body(quotation.speaker, SECOND)}: „{speech}“", "")

    def _body(self, body: Body, order: str) -> str:
        match body:
            case Clause():
                return self.clause(body, order)
            case Subordinate():
                return self._subordinate(body, order)
            case Coordinate(first, conjunction, second):
                word = self.choose(COORDINATORS[conjunction])
                comma = "," if conjunction == "but" else ""
                start = f"{self._body(first, order)}{comma} {word}"
                return f"{start} {self._body(second, order)}"
            case Shared(first, second):
                return self.shared(first, second, order)
            case Report():
                return self._report(body, order)
            case Purpose(main, aim):
                return f"{self._body(main, order)}, um {self.zu_clause(aim)}"
        raise TypeError(body)

    def _subordinate(self, body: Subordinate, order: str) -> str:
        word = self.choose(SUBORDINATORS[body.conjunction])
        if body.fronted:
            dependent = self._body(body.dependent, FINAL)
            return f"{word} {dependent}, {self._body(body.main, FIRST)}"
        main = self._body(body.main, order)
        if word == "weil" and order != FINAL and self.chance(0.2):
            return f"{main}, denn {self._body(body.dependent, SECOND)}"
        return f"{main}, {word} {self._body(body.dependent, FINAL)}"

    def _report(self, body: Report, order: str) -> str:
        main = self._body(body.main, order)
        if body.link in ("", "that"):
            bare = REPORT[body.main.verb] and not body.main.negated
            if bare and self.chance(0.25 if body.link else 0.5):
                return f"{main}, {self._body(body.content, SECOND)}"
            return f"{main}, dass {self._body(body.content, FINAL)}"
        word = "ob"
        if body.link in QUESTION_WORDS:
            word = self.choose(QUESTION_WORDS[body.link])
        return f"{main}, {word} {self._body(body.content, FINAL)}"


def _sentence(text: str, mark: str) -> str:
    """Mends the commas around clauses, sets the capital and the mark.

    >>> _sentence("der Mann , der singt,, weil er froh ist,", ".")
    'Der Mann, der singt, weil er froh ist.'
    """
    text = re.sub(r"\s+", " ", text).strip(" ,")
    text = re.sub(r"( ?,)+", ",", text)
    text = re.sub(r",(?=[:“])", "", text)
    start = re.search(r"\w", text)
    assert start
    return text[: start.start()] + start[0].upper() + text[start.end() :] + mark
