"""German declension: articles, adjectives and nouns, from a few small tables."""

import enum
import re
from dataclasses import dataclass

GENDERS = {"der": "m", "die": "f", "das": "n"}
COLUMNS = ("m", "f", "n", "pl")


class Case(enum.IntEnum):
    """The four cases; a row number in the tables below."""

    NOMINATIVE = 0
    ACCUSATIVE = 1
    DATIVE = 2
    GENITIVE = 3


Table = dict[str, tuple[str, ...]]


def _table(*rows: str) -> Table:
    """Reads four rows (cases) of m, f, n, pl; `-` stands for no ending."""
    cells = [row.replace("-", "_").split() for row in rows]
    return {
        column: tuple(row[i].strip("_") for row in cells)
        for i, column in enumerate(COLUMNS)
    }


THE = _table("der die das die", "den die das die", "dem der dem den", "des der des der")
DIES = _table("er e es e", "en e es e", "em er em en", "es er es er")
EIN = _table("- e - e", "en e - e", "em er em en", "es er es er")
RELATIVE = _table(
    "der die das die",
    "den die das die",
    "dem der dem denen",
    "dessen deren dessen deren",
)
BARE = _table(*["- - - -"] * 4)

#: Adjective endings: after no determiner, after ein-words, after der-words.
STRONG = _table("er e es e", "en e es e", "em er em en", "en er en er")
MIXED = _table("er e es en", "en e es en", "en en en en", "en en en en")
WEAK = _table("e e e en", "en e e en", "en en en en", "en en en en")


@dataclass(frozen=True)
class Determiner:
    """A determiner's stem, its endings, and the endings it asks of adjectives."""

    stem: str
    endings: Table
    adjective_endings: Table

    def form(self, case: Case, column: str) -> str:
        """Returns the inflected word, "" for the bare determiner.

        >>> Determiner("ein", EIN, MIXED).form(Case.DATIVE, "f")
        'einer'
        """
        ending = self.endings[column][case]
        stem = "eur" if self.stem == "euer" and ending else self.stem
        return stem + ending


def ein_word(stem: str) -> Determiner:
    """Returns the determiner of a possessive or `kein`.

    >>> ein_word("euer").form(Case.ACCUSATIVE, "m")
    'euren'
    """
    return Determiner(stem, EIN, MIXED)


#: German determiners by English one; several are free to choose from.
DETERMINERS: dict[str, tuple[Determiner, ...]] = {
    "": (Determiner("", BARE, STRONG),),
    "the": (Determiner("", THE, WEAK),),
    "a": (Determiner("ein", EIN, MIXED),),
    "no": (ein_word("kein"),),
    "this": (Determiner("dies", DIES, WEAK),),
    "every": (Determiner("jed", DIES, WEAK),),
    "all": (Determiner("all", DIES, WEAK),),
    "many": (Determiner("viel", DIES, STRONG),),
    "some": (Determiner("einig", DIES, STRONG), Determiner("ein paar", BARE, STRONG)),
}


@dataclass(frozen=True)
class GermanAdjective:
    """An adjective: predicative form, attributive stem, comparative."""

    lemma: str
    stem: str
    comparative: str

    def form(self, endings: Table, case: Case, column: str) -> str:
        """Returns the attributive form.

        >>> german_adjective("teuer, teurer").form(WEAK, Case.DATIVE, "f")
        'teuren'
        """
        return self.stem + endings[column][case]


def german_adjective(entry: str) -> GermanAdjective:
    """Reads `lemma[, comparative]`.

    Args:
        entry: the comparative is lemma + `er` if left out.

    Returns:
        The adjective; `-e`, `-el` and `-euer` lose their e before endings.

    >>> german_adjective("müde")
    GermanAdjective(lemma='müde', stem='müd', comparative='müder')
    """
    lemma, *rest = entry.split(", ")
    comparative = rest[0] if rest else lemma.removesuffix("e") + "er"
    elided = lemma.endswith(("e", "el", "euer"))
    stem = comparative.removesuffix("er") if elided else lemma
    return GermanAdjective(lemma, stem, comparative)


@dataclass(frozen=True)
class GermanNoun:
    """A noun as a dictionary gives it."""

    lemma: str
    gender: str
    plural: str
    genitive: str

    def column(self, plural: bool) -> str:
        """Returns the column of the tables that agrees with this noun."""
        return "pl" if plural else self.gender

    def form(self, case: Case, plural: bool = False) -> str:
        """Returns the inflected noun.

        >>> german_noun("der Nachbar, Nachbarn, Nachbarn").form(Case.DATIVE)
        'Nachbarn'
        >>> german_noun("das Kind, Kinder").form(Case.DATIVE, plural=True)
        'Kindern'
        """
        if plural:
            adds_n = case is Case.DATIVE and not self.plural.endswith(("n", "s"))
            return self.plural + "n" * adds_n
        if case is Case.GENITIVE or (self._is_weak() and case is not Case.NOMINATIVE):
            return self.genitive
        return self.lemma

    def _is_weak(self) -> bool:
        return self.gender == "m" and self.genitive.endswith("n")


def german_noun(entry: str) -> GermanNoun:
    """Reads `article lemma[, plural[, genitive]]`.

    Args:
        entry: mass nouns have no plural; the genitive follows the rule if left
            out. A masculine genitive in -n marks the weak declension.

    >>> german_noun("der Mann, Männer").genitive
    'Mannes'
    """
    lemma, *rest = entry.split(", ")
    article, lemma = lemma.split(" ", 1)
    gender = GENDERS[article]
    plural = rest[0] if rest else ""
    genitive = rest[1] if len(rest) > 1 else _genitive(lemma, gender)
    return GermanNoun(lemma, gender, plural, genitive)


def _genitive(lemma: str, gender: str) -> str:
    if gender == "f":
        return lemma
    if lemma.endswith(("s", "ß", "x", "z")):
        return lemma + "es"
    one_syllable = len(re.findall("[aeiouäöüy]+", lemma.lower())) == 1
    return lemma + ("es" if one_syllable and lemma[-1] not in "aeioué" else "s")


_LINKING_S = ("ung", "heit", "keit", "schaft", "ion", "tät", "tag", "hof", "um")
_LINKING_FORMS = {
    "Schule": "Schul",
    "Wochenende": "Wochenend",
    "Kind": "Kinder",
    "Buch": "Bücher",
    "Hund": "Hunde",
    "Reise": "Reise",
    "Kaffee": "Kaffee",
}


def linking_form(lemma: str) -> str:
    """Returns a noun as the first part of a compound, linking element included.

    >>> [linking_form(w) for w in ("Küche", "Zeitung", "Haus", "Kind")]
    ['Küchen', 'Zeitungs', 'Haus', 'Kinder']
    """
    if lemma in _LINKING_FORMS:
        return _LINKING_FORMS[lemma]
    if lemma.lower().endswith(_LINKING_S):
        return lemma + "s"
    return lemma + "n" * lemma.endswith("e")


def compound(first: str, head: GermanNoun) -> GermanNoun:
    """Joins a first part to a head, which gives gender and endings.

    >>> compound("Geburtstag", german_noun("das Geschenk, Geschenke")).plural
    'Geburtstagsgeschenke'
    """
    link = linking_form(first)
    joined = [
        link + part[0].lower() + part[1:] if part else ""
        for part in (head.lemma, head.plural, head.genitive)
    ]
    return GermanNoun(joined[0], head.gender, joined[1], joined[2])
