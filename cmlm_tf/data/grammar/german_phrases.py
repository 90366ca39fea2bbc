"""Puts phrases into German; what English leaves open is drawn here."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from cmlm_tf.data.grammar.inflection import (
    DETERMINERS,
    STRONG,
    WEAK,
    Case,
    Determiner,
    GermanNoun,
    Table,
    ein_word,
)
from cmlm_tf.data.grammar.modifiers import CONTRACTIONS
from cmlm_tf.data.grammar.numerals import german_digits, german_numbers
from cmlm_tf.data.grammar.syntax import (
    Anaphor,
    NamePhrase,
    NounPhrase,
    Numeral,
    Pair,
    Phrase,
    PrepositionalPhrase,
    Pronoun,
)
from cmlm_tf.data.grammar.words import Name

T = TypeVar("T")


class Person(NamedTuple):
    """A personal pronoun: its cases, possessive stem and agreement."""

    nominative: str
    accusative: str
    dative: str
    possessive: str
    agreement: str


PERSONS = {
    "I": Person("ich", "mich", "mir", "mein", "1s"),
    "du": Person("du", "dich", "dir", "dein", "2s"),
    "ihr": Person("ihr", "euch", "euch", "euer", "2p"),
    "Sie": Person("Sie", "Sie", "Ihnen", "Ihr", "3p"),
    "man": Person("man", "einen", "einem", "sein", "3s"),
    "he": Person("er", "ihn", "ihm", "sein", "3s"),
    "she": Person("sie", "sie", "ihr", "ihr", "3s"),
    "it": Person("es", "es", "ihm", "sein", "3s"),
    "there": Person("es", "es", "ihm", "sein", "3s"),
    "who": Person("wer", "wen", "wem", "sein", "3s"),
    "we": Person("wir", "uns", "uns", "unser", "1p"),
    "they": Person("sie", "sie", "ihnen", "ihr", "3p"),
}
_OWNERS = {
    "my": "I",
    "your": "you",
    "his": "he",
    "her": "she",
    "our": "we",
    "their": "they",
}
_THIRD_PERSONS = {"m": "he", "f": "she", "n": "it", "pl": "they"}
_ADDRESSES = {"du": 12, "Sie": 6, "ihr": 2}


class Written(NamedTuple):
    """A German phrase: its words, person and number, and table column."""

    text: str
    agreement: str = "3s"
    column: str = "m"


@dataclass(frozen=True)
class Style:
    """What is the same throughout a sentence.

    Attributes:
        address: du, ihr or Sie, for `you`.
        anybody: the same, or man, for a generic `you`.
        past: "preterite" or "perfect", for the English past.
    """

    address: str
    anybody: str
    past: str

    @classmethod
    def draw(cls, rng: random.Random) -> "Style":
        """Draws a style."""
        address = rng.choices(list(_ADDRESSES), list(_ADDRESSES.values()))[0]
        past = rng.choices(["preterite", "perfect"], [6, 4])[0]
        return cls(address, "man" if rng.random() < 0.5 else address, past)


class PhraseWriter:
    """Writes the phrases of one sentence."""

    def __init__(self, rng: random.Random, style: Style):
        """Draws synonyms and orders from `rng`."""
        self.rng = rng
        self.style = style
        self.columns: dict[NounPhrase, str] = {}

    def choose(self, options: Sequence[T]) -> T:
        """Draws an option, each 0.4 times as often as the one before it."""
        weights = [0.4**rank for rank in range(len(options))]
        return self.rng.choices(options, weights)[0]

    def chance(self, probability: float) -> bool:
        """Returns True with a probability."""
        return self.rng.random() < probability

    def person(self, pronoun: Pronoun) -> Person:
        """Returns the German person, `you` as the style addresses it."""
        if pronoun.person == "you":
            style = self.style
            return PERSONS[style.anybody if pronoun.generic else style.address]
        return PERSONS[pronoun.person]

    def phrase(self, phrase: Phrase, case: Case, negated: bool = False) -> Written:
        """Writes a phrase, without the relative clause that may belong to it.

        Args:
            phrase: any phrase but a Gap.
            case: its case.
            negated: whether an indefinite phrase becomes one with `kein`.
        """
        match phrase:
            case Pronoun():
                person = self.person(phrase)
                return Written(person[case], person.agreement)
            case Anaphor(antecedent):
                column = self.columns[antecedent]
                person = PERSONS[_THIRD_PERSONS[column]]
                return Written(person[case], person.agreement)
            case NamePhrase(name):
                return Written(_named(name, case))
            case Pair(first, second):
                both = (self.phrase(first, case), self.phrase(second, case))
                return Written(" und ".join(each.text for each in both), "3p", "pl")
            case NounPhrase():
                return self._noun_phrase(phrase, case, negated)
        raise TypeError(phrase)

    def _noun_phrase(self, phrase: NounPhrase, case: Case, negated: bool) -> Written:
        written = phrase
        if phrase.noun.head and phrase.noun.whole and self._may_unfold(phrase):
            whole = NounPhrase(phrase.noun.whole, "the")
            written = replace(phrase, noun=phrase.noun.head, determiner="", owner=whole)
        noun = self.choose(written.noun.german)
        column = noun.column(written.plural)
        self.columns[phrase] = column
        if written.owner:
            text = self._owned(written, noun, case, written.owner)
        else:
            determiner = self._determiner(written, negated)
            start = determiner.form(case, column)
            if written.numeral:
                start = self._number(written.numeral)
            core = self._core(written, noun, case, determiner.adjective_endings)
            text = f"{start} {core}".strip()
        return Written(text, "3p" if written.plural else "3s", column)

    def _may_unfold(self, phrase: NounPhrase) -> bool:
        return phrase.determiner == "the" and self.chance(0.35)

    def _determiner(self, phrase: NounPhrase, negated: bool) -> Determiner:
        word = phrase.determiner
        if word in _OWNERS:
            return ein_word(self.person(Pronoun(_OWNERS[word])).possessive)
        if negated and is_indefinite(phrase):
            word = "no"
        return self.choose(DETERMINERS[word])

    def _number(self, numeral: Numeral) -> str:
        if numeral.digits:
            return german_digits(numeral.value)
        return self.choose(german_numbers(numeral.value))

    def _core(
        self, phrase: NounPhrase, noun: GermanNoun, case: Case, endings: Table
    ) -> str:
        column = noun.column(phrase.plural)
        words = [
            self.choose(adjective.german).form(endings, case, column)
            for adjective in phrase.adjectives
        ]
        return " ".join([*words, noun.form(case, phrase.plural)])

    def _owned(
        self,
        phrase: NounPhrase,
        noun: GermanNoun,
        case: Case,
        owner: NounPhrase | NamePhrase,
    ) -> str:
        """Writes `Annas Auto`, `das Auto von Anna`, `das Auto meines Bruders`."""
        if isinstance(owner, NamePhrase) and self.chance(0.65):
            core = self._core(phrase, noun, case, STRONG)
            return f"{owner.name.german}s {core}"
        article = DETERMINERS["the"][0].form(case, noun.column(phrase.plural))
        core = f"{article} {self._core(phrase, noun, case, WEAK)}"
        if isinstance(owner, NamePhrase) or self._is_family(owner):
            return f"{core} {self.behind('von', owner, Case.DATIVE)}"
        return f"{core} {self.phrase(owner, Case.GENITIVE).text}"

    def _is_family(self, owner: NounPhrase) -> bool:
        return owner.determiner != "the" and self.chance(0.35)

    def behind(self, preposition: str, phrase: Phrase, case: Case) -> str:
        """Writes a phrase behind a preposition, contracted where that is usual.

        Args:
            preposition: the German preposition.
            phrase: what stands behind it.
            case: the case it asks for.
        """
        text = f"{preposition} {self.phrase(phrase, case).text}"
        if isinstance(phrase, NounPhrase) and phrase.relative is None:
            for apart, together in CONTRACTIONS.items():
                if text.startswith(f"{apart} "):
                    return together + text.removeprefix(apart)
        return text

    def prepositional(self, part: PrepositionalPhrase) -> str:
        """Writes a prepositional phrase."""
        preposition = part.preposition
        case = Case[preposition.case.upper()]
        return self.behind(preposition.german, part.phrase, case)

    def place(self, place: Phrase | PrepositionalPhrase) -> str:
        """Writes where something is."""
        if isinstance(place, PrepositionalPhrase):
            return self.prepositional(place)
        if isinstance(place, NounPhrase):
            return self.behind(place.noun.at[1], place, Case.DATIVE)
        return self.behind("in", place, Case.DATIVE)

    def goal(self, goal: Phrase) -> str:
        """Writes where something goes to."""
        if not isinstance(goal, NounPhrase):
            return self.behind("nach", goal, Case.DATIVE)
        preposition = self.choose(goal.noun.to)
        case = Case.DATIVE if preposition == "zu" else Case.ACCUSATIVE
        return self.behind(preposition, goal, case)


def is_indefinite(phrase: Phrase | None) -> bool:
    """Returns whether a phrase brings up something new: it stands late."""
    return (
        isinstance(phrase, NounPhrase)
        and phrase.owner is None
        and (phrase.determiner in ("", "a", "no", "some", "many"))
    )


def _named(name: Name, case: Case) -> str:
    titles = {"": "", "Mrs": "Frau ", "Mr": "Herr "}
    if name.title == "Mr" and case is not Case.NOMINATIVE:
        return f"Herrn {name.german}"
    return titles[name.title] + name.german
