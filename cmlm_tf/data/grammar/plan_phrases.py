"""Draws noun phrases: who and what a sentence is about."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from cmlm_tf.data.grammar.modifiers import (
    BUILDING_PREPOSITIONS,
    CAUSE_PREPOSITIONS,
    DEGREES,
    EVENT_PREPOSITIONS,
    NO_COMPARATIVE,
    QUALITIES,
    SIZES_AGES_COLOURS,
)
from cmlm_tf.data.grammar.nouns import (
    FIRST_NAMES,
    NOUNS,
    SYLLABLES,
    TOWNS,
    rare_name,
)
from cmlm_tf.data.grammar.syntax import (
    NamePhrase,
    NounPhrase,
    Numeral,
    Pair,
    Phrase,
    Predicate,
    PrepositionalPhrase,
    Pronoun,
)
from cmlm_tf.data.grammar.words import Adjective, Noun

T = TypeVar("T")

_OWN = {
    "I": "my",
    "you": "your",
    "he": "his",
    "she": "her",
    "we": "our",
    "they": "their",
}
#: Determiner and number, with how often each is drawn.
_DETERMINERS = {
    ("the", False): 34,
    ("the", True): 8,
    ("a", False): 24,
    ("this", False): 8,
    ("", True): 6,
    ("many", True): 4,
    ("some", True): 5,
    ("all", True): 2,
    ("number", True): 8,
}
_UNCERTAIN = {("", True), ("many", True), ("some", True), ("all", True)}
_MASS = {("the", False): 3, ("", False): 4, ("this", False): 1}


def pick(rng: random.Random, weights: Mapping[T, float]) -> T:
    """Draws a key with probability proportional to its weight."""
    return rng.choices(list(weights), list(weights.values()))[0]


@cache
def nouns_of(kinds: frozenset[str]) -> tuple[Noun, ...]:
    """Returns the nouns that share a kind with `kinds`."""
    return tuple(noun for noun in NOUNS if noun.kinds & kinds)


@cache
def adjectives_for(noun: Noun) -> tuple[Adjective, ...]:
    """Returns the adjectives that go with a noun."""
    return tuple(
        each for each in QUALITIES + SIZES_AGES_COLOURS if each.kinds & noun.kinds
    )


@dataclass(frozen=True)
class Scene:
    """What the phrases of a clause must agree with.

    `owners` are the possessives that may occur, `definite` keeps out phrases
    whose meaning changes under negation (many, some), `nested` is True where no
    relative clause may be drawn.
    """

    subject: Phrase
    owners: tuple[str, ...] = ()
    definite: bool = False
    nested: bool = False


def own(subject: Phrase) -> tuple[str, ...]:
    """Returns the possessive that refers to the subject, if it is plain."""
    if isinstance(subject, Pronoun):
        known = subject.person in _OWN and not subject.generic
        return (_OWN[subject.person],) if known else ()
    if isinstance(subject, NamePhrase):
        return (_OWN[subject.name.kind],)
    return ()


class PhrasePlanner:
    """Draws phrases from a source of choices."""

    def __init__(self, rng: random.Random):
        """Draws from `rng`, which the caller seeds."""
        self.rng = rng

    def chance(self, probability: float) -> bool:
        """Returns True with a probability."""
        return self.rng.random() < probability

    def name(self) -> NamePhrase:
        """Returns a person: mostly a first name, sometimes a rare surname."""
        if self.chance(0.7):
            return NamePhrase(self.rng.choice(FIRST_NAMES))
        return NamePhrase(rare_name(self._syllables(), self.rng.choice(["he", "she"])))

    def town(self) -> NamePhrase:
        """Returns a town or country, sometimes an invented one."""
        if self.chance(0.7):
            return NamePhrase(self.rng.choice(TOWNS))
        return NamePhrase(rare_name(self._syllables(), "town"))

    def _syllables(self) -> list[str]:
        return self.rng.sample(SYLLABLES, self.rng.choice([2, 2, 3]))

    def subject(self, pronouns: float = 0.5) -> Phrase:
        """Returns a person or two as the subject of a clause."""
        if self.chance(pronouns):
            people = {"I": 4, "you": 6, "he": 4, "she": 4, "we": 3, "they": 3}
            return Pronoun(pick(self.rng, people))
        kind = pick(self.rng, {"noun": 5, "name": 4, "pair": 1})
        if kind == "noun":
            return self.person_noun(("my", "our"))
        name = self.name()
        return Pair(name, self.relative_person(own(name))) if kind == "pair" else name

    def person_noun(self, owners: Sequence[str], plural: float = 0.2) -> NounPhrase:
        """Returns a person by a noun; relatives have an owner."""
        noun = self.rng.choice(nouns_of(frozenset({"person"})))
        many = self.chance(plural) and noun.english not in ("mother", "father")
        if "relative" in noun.kinds and owners:
            determiner = self.rng.choice(owners)
        elif "role" in noun.kinds and owners and self.chance(0.25):
            determiner = self.rng.choice(owners)
        else:
            determiner = "the" if many or self.chance(0.7) else "a"
        return NounPhrase(noun, determiner, self.adjectives(noun, 0.25), many)

    def adjectives(self, noun: Noun, chance: float) -> tuple[Adjective, ...]:
        """Returns no, one or seldom two adjectives in their usual order."""
        fitting = adjectives_for(noun)
        if not fitting or not self.chance(chance):
            return ()
        qualities = [each for each in fitting if each in QUALITIES]
        others = [each for each in fitting if each not in QUALITIES]
        if qualities and others and self.chance(0.12):
            return self.rng.choice(qualities), self.rng.choice(others)
        return (self.rng.choice(fitting),)

    def thing(self, kinds: Iterable[str], scene: Scene) -> NounPhrase:
        """Returns a phrase for something of these kinds, not a person."""
        noun = self.rng.choice(nouns_of(frozenset(kinds)))
        if noun.is_mass:
            determiner, plural = pick(self.rng, _MASS)
            return NounPhrase(noun, determiner, self.adjectives(noun, 0.25))
        owner = self._owner(noun) if self.chance(0.08) and not scene.definite else None
        if owner:
            return NounPhrase(noun, "", self.adjectives(noun, 0.2), owner=owner)
        determiner, plural = self._determiner(scene)
        numeral = self._numeral() if determiner == "number" else None
        return NounPhrase(
            noun,
            "" if numeral else determiner,
            self.adjectives(noun, 0.35),
            plural,
            numeral,
        )

    def _determiner(self, scene: Scene) -> tuple[str, bool]:
        if scene.owners and self.chance(0.25):
            return self.rng.choice(scene.owners), self.chance(0.15)
        determiner, plural = pick(self.rng, _DETERMINERS)
        if scene.definite and (determiner, plural) in {*_UNCERTAIN, ("number", True)}:
            return "the", plural
        return determiner, plural

    def _owner(self, noun: Noun) -> NounPhrase | NamePhrase | None:
        if "weather" in noun.kinds or "place" in noun.kinds and noun.head:
            return None
        if self.chance(0.5):
            return NamePhrase(self.rng.choice(FIRST_NAMES))
        return self.person_noun(("my", "our"), plural=0.1)

    def _numeral(self) -> Numeral:
        size = pick(self.rng, {"few": 6, "tens": 4, "hundreds": 1, "thousands": 1})
        if size == "few":
            return Numeral(self.rng.randint(2, 12), digits=False)
        if size == "thousands":
            return Numeral(self.rng.randint(20, 400) * 10, digits=True)
        low, high = (13, 99) if size == "tens" else (102, 199)
        return Numeral(self.rng.randint(low, high), digits=self.chance(0.4))

    def person(self, scene: Scene) -> Phrase:
        """Returns a person who is not the subject, often as a pronoun."""
        if self.chance(0.35):
            return Pronoun(self.rng.choice(_others(scene.subject)))
        if self.chance(0.3):
            return self.name()
        return self.person_noun(scene.owners)

    def phrase(self, kinds: frozenset[str], scene: Scene) -> Phrase:
        """Returns a person, an animal, a thing or a place of one of these kinds."""
        people = kinds & {"person", "relative"}
        if people and (kinds == people or self.chance(0.5)):
            family = "relative" in people
            return self.relative_person(scene.owners) if family else self.person(scene)
        return self.thing(kinds - people, scene)

    def relative_person(self, owners: Sequence[str]) -> NounPhrase:
        """Returns a member of the family or a friend of one of the owners."""
        noun = self.rng.choice(nouns_of(frozenset({"relative"})))
        return NounPhrase(noun, self.rng.choice(owners or ("the",)))

    def place(self, scene: Scene) -> Phrase | PrepositionalPhrase:
        """Returns where something happens."""
        if self.chance(0.15):
            return self.town()
        if self.chance(0.12):
            building = self.thing({"building"}, Scene(scene.subject, definite=True))
            return PrepositionalPhrase(
                self.rng.choice(BUILDING_PREPOSITIONS), _plain(building)
            )
        return self.goal("place")

    def goal(self, kind: str = "far") -> NounPhrase:
        """Returns a place to go to or, of the kind "place", to be in."""
        noun = self.rng.choice(nouns_of(frozenset({kind})))
        determiner = pick(self.rng, {"the": 8, "a": 1.5, "this": 1})
        return NounPhrase(noun, determiner, self.adjectives(noun, 0.2))

    def circumstance(self) -> PrepositionalPhrase:
        """Returns `after the concert`, `because of the rain` and their like."""
        if self.chance(0.65):
            event = self.rng.choice(nouns_of(frozenset({"event"})))
            phrase = NounPhrase(event, "the", self.adjectives(event, 0.25))
            return PrepositionalPhrase(self.rng.choice(EVENT_PREPOSITIONS), phrase)
        weather = self.rng.choice(nouns_of(frozenset({"weather"})))
        return PrepositionalPhrase(
            self.rng.choice(CAUSE_PREPOSITIONS), NounPhrase(weather, "the")
        )

    def predicate(self, noun: Noun, compare: bool = False) -> Predicate:
        """Returns an adjective that goes with a noun, compared or with a degree."""
        adjective = self.rng.choice(adjectives_for(noun))
        if adjective.english in NO_COMPARATIVE:
            return Predicate(adjective)
        rivals = self._rivals(noun, adjective) if compare else []
        if rivals:
            return Predicate(adjective, than=self.rng.choice(rivals))
        degrees = {degree: 6 if degree == "" else 1 for degree in DEGREES}
        return Predicate(adjective, pick(self.rng, degrees))

    def _rivals(self, noun: Noun, adjective: Adjective) -> list[Phrase]:
        """Returns what a noun can be compared with."""
        if "person" in noun.kinds:
            return [self.name()]
        return [
            NounPhrase(each, "this")
            for each in nouns_of(noun.kinds)
            if each != noun and adjective in adjectives_for(each)
        ]


def _others(subject: Phrase) -> list[str]:
    """Returns the pronouns that can be the object beside a subject."""
    person = subject.person if isinstance(subject, Pronoun) else "he"
    clash = {"I": {"I", "we"}, "we": {"I", "we"}}.get(person, {person})
    return [
        each for each in ("I", "you", "he", "she", "we", "they") if each not in clash
    ]


def _plain(phrase: NounPhrase) -> NounPhrase:
    """Keeps a single known building, so that one can stand behind it."""
    return NounPhrase(phrase.noun, "the", phrase.adjectives)
