"""Dictionary entries: an English word and its German translations.

Where several German words are given the first is the usual one; which is
written is drawn anew at every occurrence.
"""

from dataclasses import dataclass

from cmlm_tf.data.grammar import english_forms
from cmlm_tf.data.grammar.conjugation import GermanVerb, german_verb
from cmlm_tf.data.grammar.inflection import (
    GermanAdjective,
    GermanNoun,
    compound,
    german_adjective,
    german_noun,
)


@dataclass(frozen=True)
class Noun:
    """A noun, or a compound if it has a `head` and the `whole` that it is part of.

    `kinds` says what can be done with it: verbs and adjectives name the kinds
    they go with. `at` is the English and the German preposition of rest at a
    place, `to` the German prepositions of the way there.
    """

    english: str
    english_plural: str
    german: tuple[GermanNoun, ...]
    kinds: frozenset[str]
    at: tuple[str, str] = ("", "")
    to: tuple[str, ...] = ()
    head: "Noun | None" = None
    whole: "Noun | None" = None

    @property
    def is_mass(self) -> bool:
        """Whether it has no plural."""
        return not self.german[0].plural


def noun(english: str, german: str, kinds: str, at: str = "", to: str = "") -> Noun:
    """Reads a noun.

    Args:
        english: `singular[/plural]`.
        german: dictionary entries, separated by " / ".
        kinds: names separated by spaces.
        at: "english german" prepositions of rest, for places.
        to: German prepositions of direction, for places.

    >>> noun("man/men", "der Mann, Männer", "person").english_plural
    'men'
    """
    singular, _, plural = english.partition("/")
    english_at, _, german_at = at.partition(" ")
    return Noun(
        singular,
        plural or english_forms.plural(singular),
        tuple(german_noun(entry) for entry in german.split(" / ")),
        frozenset(kinds.split()),
        (english_at, german_at),
        tuple(to.split()),
    )


def compound_noun(first: str, german: str, head: Noun, whole: Noun | None) -> Noun:
    """Builds a compound by rule, with the linking element where one is due.

    Args:
        first: English first part.
        german: German first part, as a word of its own.
        head: what the compound is.
        whole: what the head is a part of, if `the part of the whole` is a
            paraphrase.

    >>> key = noun("key", "der Schlüssel, Schlüssel", "portable")
    >>> compound_noun("kitchen", "Küche", key, None).german[0].lemma
    'Küchenschlüssel'
    """
    return Noun(
        f"{first} {head.english}",
        f"{first} {head.english_plural}",
        tuple(compound(german, entry) for entry in head.german),
        head.kinds,
        head.at,
        head.to,
        head,
        whole,
    )


@dataclass(frozen=True)
class Adjective:
    """An adjective and the kinds of nouns it goes with."""

    english: str
    english_comparative: str
    german: tuple[GermanAdjective, ...]
    kinds: frozenset[str]


def adjective(english: str, german: str, kinds: str) -> Adjective:
    """Reads `positive[/comparative]` and German entries separated by " / "."""
    positive, _, comparative = english.partition("/")
    return Adjective(
        positive,
        comparative or english_forms.comparative(positive),
        tuple(german_adjective(entry) for entry in german.split(" / ")),
        frozenset(kinds.split()),
    )


@dataclass(frozen=True)
class Verb:
    """A verb with its translations and the kinds of its object.

    `particle` follows the verb and lets a pronoun pass ("pick him up"),
    `preposition` does not ("wait for him"). What is not `willed` (know, lose) has
    no progressive, no modal, no manner and no command.
    """

    base: str
    past: str
    participle: str
    particle: str
    preposition: str
    german: tuple[GermanVerb, ...]
    objects: frozenset[str]
    willed: bool = True

    @property
    def third(self) -> str:
        """Third person singular of the present."""
        return english_forms.third_person(self.base)

    @property
    def ing(self) -> str:
        """Present participle."""
        return english_forms.ing(self.base)

    @property
    def has_passive(self) -> bool:
        """Whether some translation has a plain accusative object."""
        return any(german.has_plain_object for german in self.german)


def verb(english: str, german: str, objects: str = "", willed: bool = True) -> Verb:
    """Reads a verb.

    Args:
        english: `base[ past participle][ +particle][ ~preposition]`; past and
            participle follow the rule if left out.
        german: dictionary entries, separated by " / ".
        objects: kinds of the direct object, none for an intransitive verb.
        willed: whether somebody does it on purpose.

    >>> verb("pick +up", "ab|holen", "person").past
    'picked'
    """
    forms, _, preposition = english.partition(" ~")
    forms, _, particle = forms.partition(" +")
    base, *parts = forms.split()
    past, participle = parts or [english_forms.past(base)] * 2
    return Verb(
        base,
        past,
        participle,
        particle,
        preposition,
        tuple(german_verb(entry) for entry in german.split(" / ")),
        frozenset(objects.split()),
        willed,
    )


@dataclass(frozen=True)
class Modal:
    """A modal verb.

    `auxiliary` is the English modal ("can", "would"), "" if do-support is
    needed (want to); `rest` stands between it and the infinitive.
    """

    auxiliary: str
    rest: str
    past: str
    german: tuple[GermanVerb, ...]


@dataclass(frozen=True)
class Adverbial:
    """An adverb or a fixed adverbial phrase; `kind` decides where it stands."""

    english: str
    german: tuple[str, ...]
    kind: str


def adverbial(english: str, german: str, kind: str) -> Adverbial:
    """Reads an adverbial; translations are separated by " / "."""
    return Adverbial(english, tuple(german.split(" / ")), kind)


@dataclass(frozen=True)
class Preposition:
    """A preposition and the German one with the name of its case."""

    english: str
    german: str
    case: str


@dataclass(frozen=True)
class Name:
    """A proper name; `kind` is "he", "she" or "town"."""

    english: str
    german: str
    kind: str
    title: str = ""
