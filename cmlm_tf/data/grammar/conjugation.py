"""German verbs: dictionary entries, their forms, and the verbal bracket."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from cmlm_tf.data.grammar.inflection import Case

#: Person and number, the column order of every paradigm below.
AGREEMENTS = ("1s", "2s", "3s", "1p", "2p", "3p")

_CASES = {"A": Case.ACCUSATIVE, "D": Case.DATIVE, "G": Case.GENITIVE}
_INSEPARABLE = ("be", "emp", "ent", "er", "ge", "miss", "ver", "zer")

_IRREGULAR_PRESENT = {
    "sein": "bin bist ist sind seid sind",
    "haben": "habe hast hat haben habt haben",
    "werden": "werde wirst wird werden werdet werden",
    "wissen": "weiß weißt weiß wissen wisst wissen",
    "können": "kann kannst kann können könnt können",
    "müssen": "muss musst muss müssen müsst müssen",
    "wollen": "will willst will wollen wollt wollen",
    "dürfen": "darf darfst darf dürfen dürft dürfen",
    "sollen": "sollte solltest sollte sollten solltet sollten",
    "mögen": "möchte möchtest möchte möchten möchtet möchten",
}


@dataclass(frozen=True)
class GermanVerb:
    """A verb as a dictionary gives it, with what it governs.

    `prefix` is the separable part ("an"; "spazieren " if written apart),
    `infinitive` the rest. `reflexive` is the case of the reflexive pronoun.
    """

    prefix: str
    infinitive: str
    third: str
    preterite: str
    participle: str
    auxiliary: str
    case: Case = Case.ACCUSATIVE
    preposition: str = ""
    reflexive: Case | None = None

    @property
    def stem(self) -> str:
        """The infinitive without -en or -n."""
        return _stem(self.infinitive)

    @property
    def has_plain_object(self) -> bool:
        """Whether its object is a bare accusative, so that it has a passive."""
        governs = (self.case, self.preposition, self.reflexive)
        return governs == (Case.ACCUSATIVE, "", None)


def german_verb(entry: str) -> GermanVerb:
    """Reads `[sich[-D] ][prefix|]infinitive[, 3sg, preterite, participle][; gov]`.

    Args:
        entry: forms without the separable prefix; `ist` before the participle
            marks the auxiliary sein; regular forms may be left out. After the
            semicolon stands `[preposition ]case letter`, accusative if absent.

    >>> german_verb("an|rufen, ruft, rief, gerufen").participle
    'angerufen'
    >>> german_verb("besuchen").participle, german_verb("warten").preterite
    ('besucht', 'wartete')
    """
    forms, _, government = entry.partition("; ")
    lemma, *parts = forms.split(", ")
    *sich, lemma = re.split("^(sich|sich-D) ", lemma)
    prefix, _, infinitive = lemma.rpartition("|")
    third, preterite, participle = parts or _regular_forms(infinitive)
    auxiliary = "sein" if participle.startswith("ist ") else "haben"
    *preposition, letter = (government or "A").split(" ")
    return GermanVerb(
        prefix,
        infinitive,
        third,
        preterite,
        prefix + participle.removeprefix("ist "),
        auxiliary,
        _CASES[letter],
        " ".join(preposition),
        _CASES["D" if "sich-D" in sich else "A"] if sich else None,
    )


def _stem(infinitive: str) -> str:
    return re.sub("e?n$", "", infinitive)


def _needs_e(stem: str) -> bool:
    """Whether an e stands before -st and -t: arbeit-, öffn-, not lern-, komm-."""
    return bool(re.search("[td]$|[^aeiouäöülrhmn][mn]$", stem))


def _regular_forms(infinitive: str) -> tuple[str, str, str]:
    stem = _stem(infinitive)
    third = stem + ("et" if _needs_e(stem) else "t")
    without_ge = infinitive.startswith(_INSEPARABLE) or infinitive.endswith("ieren")
    return third, third + "e", ("" if without_ge else "ge") + third


def present(verb: GermanVerb, agreement: str) -> str:
    """Returns the present form without the separable prefix.

    >>> lesen = german_verb("lesen, liest, las, gelesen")
    >>> " ".join(present(lesen, agreement) for agreement in AGREEMENTS)
    'lese liest liest lesen lest lesen'
    """
    if verb.infinitive in _IRREGULAR_PRESENT:
        forms = _IRREGULAR_PRESENT[verb.infinitive].split()
    else:
        second_plural = verb.stem + ("et" if _needs_e(verb.stem) else "t")
        second = _second_singular(verb)
        plural = verb.infinitive
        forms = [verb.stem + "e", second, verb.third, plural, second_plural, plural]
    return forms[AGREEMENTS.index(agreement)]


def _second_singular(verb: GermanVerb) -> str:
    stem = verb.third.removesuffix("t")
    if verb.stem.endswith("t") and not verb.third.endswith("et"):
        return verb.third + "st"  # halten: hält, hältst
    return stem + ("t" if stem[-1] in "sßxz" else "st")


def preterite(verb: GermanVerb, agreement: str) -> str:
    """Returns the preterite form without the separable prefix.

    >>> rufen = german_verb("rufen, ruft, rief, gerufen")
    >>> preterite(rufen, "3p"), preterite(german_verb("kaufen"), "1p")
    ('riefen', 'kauften')
    """
    base = verb.preterite
    if base.endswith("e"):
        endings = ("", "st", "", "n", "t", "n")
    else:
        link = "e" * (base[-1] in "sßtd")
        endings = ("", link + "st", "", "en", "e" * (base[-1] in "td") + "t", "en")
    return base + endings[AGREEMENTS.index(agreement)]


def imperative(verb: GermanVerb, address: str) -> str:
    """Returns the command form for du, ihr or Sie, without separable prefix.

    >>> lesen = german_verb("lesen, liest, las, gelesen")
    >>> [imperative(lesen, address) for address in ("du", "ihr", "Sie")]
    ['lies', 'lest', 'lesen Sie']
    """
    if address == "Sie":
        return f"{verb.infinitive} Sie"
    if address == "ihr":
        return present(verb, "2p")
    changed = verb.third.removesuffix("t")
    if "e" in verb.stem and "i" in changed and "i" not in verb.stem:
        return changed
    return verb.stem + "e" * (_needs_e(verb.stem) or verb.stem.endswith(("er", "ig")))


def infinitive(verb: GermanVerb) -> str:
    """Returns the infinitive with its prefix."""
    return verb.prefix + verb.infinitive


def zu_infinitive(verb: GermanVerb) -> str:
    """Returns the infinitive with zu.

    >>> zu_infinitive(german_verb("auf|machen"))
    'aufzumachen'
    >>> zu_infinitive(german_verb("spazieren |gehen, geht, ging, ist gegangen"))
    'spazieren zu gehen'
    """
    apart = " " if verb.prefix.endswith(" ") or not verb.prefix else ""
    return f"{verb.prefix}zu{apart}{verb.infinitive}"


SEIN = german_verb("sein, ist, war, ist gewesen")
HABEN = german_verb("haben, hat, hatte, gehabt")
WERDEN = german_verb("werden, wird, wurde, ist geworden")
_AUXILIARIES = {"sein": SEIN, "haben": HABEN}


class Bracket(NamedTuple):
    """The verbal bracket: finite verb, its separable prefix, what ends the clause."""

    finite: str
    prefix: str
    tail: str

    def second(self) -> tuple[str, str]:
        """Returns the finite verb and the right bracket of a verb-second clause."""
        return self.finite, self.tail or self.prefix.strip()

    def final(self) -> str:
        """Returns the verbs of a verb-final clause.

        >>> Bracket("ruft", "an", "").final(), Bracket("hat", "", "gehört").final()
        ('anruft', 'gehört hat')
        """
        return f"{self.tail} {self.prefix}{self.finite}".strip()


def simple_bracket(verb: GermanVerb, tense: str, agreement: str) -> Bracket:
    """Returns the bracket of an active clause without modal verb.

    Args:
        verb: the main verb.
        tense: "present", "preterite", "perfect" or "future".
        agreement: one of AGREEMENTS.
    """
    if tense == "future":
        return Bracket(present(WERDEN, agreement), "", infinitive(verb))
    if tense == "perfect":
        auxiliary = present(_AUXILIARIES[verb.auxiliary], agreement)
        return Bracket(auxiliary, "", verb.participle)
    conjugate = present if tense == "present" else preterite
    return Bracket(conjugate(verb, agreement), verb.prefix, "")


def modal_bracket(
    modal: GermanVerb, verb: GermanVerb, tense: str, agreement: str
) -> Bracket:
    """Returns the bracket of a modal verb with an infinitive; never perfect."""
    conjugate = present if tense == "present" else preterite
    return Bracket(conjugate(modal, agreement), "", infinitive(verb))


def passive_bracket(verb: GermanVerb, tense: str, agreement: str) -> Bracket:
    """Returns the bracket of the passive with werden, in any tense but future.

    >>> passive_bracket(german_verb("auf|machen"), "perfect", "3s").final()
    'aufgemacht worden ist'
    """
    if tense == "perfect":
        return Bracket(present(SEIN, agreement), "", f"{verb.participle} worden")
    return simple_bracket(WERDEN, tense, agreement)._replace(tail=verb.participle)
