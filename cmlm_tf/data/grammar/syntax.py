"""What a sentence says: trees that both languages put into words.

A tree holds dictionary entries and grammatical choices that show in English.
What English leaves open (du or Sie, a synonym, word order) is left open here.
"""

from dataclasses import dataclass
from typing import TypeAlias

from cmlm_tf.data.grammar.words import (
    Adjective,
    Adverbial,
    Modal,
    Name,
    Noun,
    Preposition,
    Verb,
)


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun by its English nominative; generic `you` may be man."""

    person: str
    generic: bool = False


@dataclass(frozen=True)
class Gap:
    """The place in a relative clause that its pronoun stands for."""


@dataclass(frozen=True)
class NamePhrase:
    """A proper name."""

    name: Name


@dataclass(frozen=True)
class Numeral:
    """A count, in digits or in words."""

    value: int
    digits: bool


@dataclass(frozen=True)
class NounPhrase:
    """A noun with what belongs to it; the relative clause contains a Gap."""

    noun: Noun
    determiner: str = ""
    adjectives: tuple[Adjective, ...] = ()
    plural: bool = False
    numeral: Numeral | None = None
    owner: "NounPhrase | NamePhrase | None" = None
    relative: "Clause | None" = None


@dataclass(frozen=True)
class Anaphor:
    """The pronoun that takes up a thing named before in the same sentence."""

    antecedent: NounPhrase


@dataclass(frozen=True)
class Pair:
    """Two phrases joined by `and`."""

    first: "Phrase"
    second: "Phrase"


Phrase: TypeAlias = Pronoun | Gap | NamePhrase | NounPhrase | Anaphor | Pair


@dataclass(frozen=True)
class PrepositionalPhrase:
    """A phrase behind a preposition."""

    preposition: Preposition
    phrase: Phrase


@dataclass(frozen=True)
class Predicate:
    """A predicative adjective: with a degree, or a comparative with `than`."""

    adjective: Adjective
    degree: str = ""
    than: Phrase | None = None


@dataclass(frozen=True)
class Clause:
    """A clause; `tense` is present, progressive, past, perfect or future.

    `time_first` puts the time in front of the English clause. In a passive
    clause the subject is what the verb's object was. The subject of an
    existential clause is `Pronoun("there")`.
    """

    subject: Phrase
    verb: Verb
    tense: str
    object: Phrase | None = None
    recipient: Phrase | None = None
    predicate: Predicate | None = None
    place: Phrase | PrepositionalPhrase | None = None
    goal: Phrase | None = None
    companion: PrepositionalPhrase | None = None
    time: Adverbial | PrepositionalPhrase | None = None
    time_first: bool = False
    adverb: Adverbial | None = None
    manner: Adverbial | None = None
    modal: Modal | None = None
    negated: bool = False
    passive: bool = False


@dataclass(frozen=True)
class Subordinate:
    """A main clause and a dependent one, which stands first if `fronted`."""

    main: "Body"
    conjunction: str
    dependent: "Body"
    fronted: bool = False


@dataclass(frozen=True)
class Coordinate:
    """Two clauses joined by and or but."""

    first: "Body"
    conjunction: str
    second: "Body"


@dataclass(frozen=True)
class Shared:
    """Two clauses joined by `and` with one subject, said once."""

    first: Clause
    second: Clause


@dataclass(frozen=True)
class Report:
    """A clause that reports another; `link` is that, "", whether or when ..."""

    main: Clause
    link: str
    content: "Body"


@dataclass(frozen=True)
class Purpose:
    """A clause and the aim of its subject, an infinitive clause."""

    main: Clause
    aim: Clause


Body: TypeAlias = Clause | Subordinate | Coordinate | Shared | Report | Purpose


@dataclass(frozen=True)
class Statement:
    """A sentence that ends in a full stop."""

    body: Body


@dataclass(frozen=True)
class Question:
    """A question; `word` is "" (yes or no), when, where or why."""

    body: Clause | Report
    word: str = ""


@dataclass(frozen=True)
class Command:
    """A polite command to `you`."""

    clause: Clause
    please_first: bool


@dataclass(frozen=True)
class Quotation:
    """Direct speech, before or after the clause that names the speaker."""

    speaker: Clause
    speech: "Sentence"
    speech_first: bool


Sentence: TypeAlias = Statement | Question | Command | Quotation
