"""Puts the German middle field in order: what stands inside the verbal bracket."""

from typing import NamedTuple

from cmlm_tf.data.grammar import verbs
from cmlm_tf.data.grammar.conjugation import AGREEMENTS, GermanVerb
from cmlm_tf.data.grammar.german_phrases import PhraseWriter, is_indefinite
from cmlm_tf.data.grammar.inflection import Case
from cmlm_tf.data.grammar.modifiers import DEGREES
from cmlm_tf.data.grammar.syntax import (
    Clause,
    Gap,
    Predicate,
    PrepositionalPhrase,
    Pronoun,
)
from cmlm_tf.data.grammar.words import Adverbial

_REFLEXIVES = {
    Case.ACCUSATIVE: "mich dich sich uns euch sich".split(),
    Case.DATIVE: "mir dir sich uns euch sich".split(),
}
#: Frequency adverbs that also open a sentence.
_OPENING = {"manchmal", "ab und zu", "normalerweise", "meistens", "gewöhnlich"}


class Item(NamedTuple):
    """A part of the middle field: lower ranks come first.

    `front` is how much the part likes to stand before the finite verb, where
    the subject's weight is 1.
    """

    rank: float
    text: str
    front: float = 0.0
    is_object: bool = False


class MiddleFieldWriter(PhraseWriter):
    """Writes what a clause has beside its subject and its verbs."""

    def items(self, clause: Clause, verb: GermanVerb) -> list[Item]:
        """Returns the parts of the middle field in order, pronouns left out."""
        items = [*self._circumstances(clause), *self._objects(clause, verb)]
        if clause.goal:
            items.append(Item(60, self.goal(clause.goal)))
        if clause.predicate:
            items.append(Item(65, self._predicate(clause.predicate)))
        if clause.negated and not self._takes_kein(clause, verb):
            items.append(Item(35, "nicht"))
        return sorted(items, key=lambda item: item.rank)

    def pronouns(self, clause: Clause, verb: GermanVerb, agreement: str) -> list[str]:
        """Returns the pronouns that open the middle field, in order."""
        pronouns = []
        if verb.reflexive is not None:
            index = AGREEMENTS.index(agreement)
            pronouns.append(_REFLEXIVES[verb.reflexive][index])
        if isinstance(clause.object, Pronoun) and not verb.preposition:
            pronouns.append(self.phrase(clause.object, verb.case).text)
        if isinstance(clause.recipient, Pronoun):
            pronouns.append(self.phrase(clause.recipient, Case.DATIVE).text)
        return pronouns

    def _objects(self, clause: Clause, verb: GermanVerb) -> list[Item]:
        items = []
        recipient, thing = clause.recipient, clause.object
        if recipient and not isinstance(recipient, Pronoun):
            text = self.phrase(recipient, Case.DATIVE).text
            items.append(Item(self.choose([15, 25]), text))
        if thing is None or isinstance(thing, Gap):
            return items
        if verb.preposition:
            text = self.behind(verb.preposition, thing, verb.case)
            items.append(Item(50, text, is_object=True))
        elif not isinstance(thing, Pronoun):
            text = self.phrase(thing, verb.case, clause.negated).text
            known = not is_indefinite(thing) and not recipient
            early = known and self.chance(0.3)
            items.append(Item(17 if early else 30, text, is_object=True))
        return items

    def _takes_kein(self, clause: Clause, verb: GermanVerb) -> bool:
        return is_indefinite(clause.object) and not verb.preposition

    def _circumstances(self, clause: Clause) -> list[Item]:
        items = []
        if clause.time:
            items.append(self._time(clause.time, clause.time_first))
        elif self._is_going_on(clause):
            items.append(Item(21, "gerade"))
        if clause.adverb:
            items.append(self._adverb(clause.adverb))
        # with a new object these come before it, for what is new comes late
        new = is_indefinite(clause.object) and not clause.negated
        if clause.companion:
            text = self.prepositional(clause.companion)
            items.append(Item(28 if new else 40, text))
        if clause.manner:
            early = new and clause.manner.kind == "manner"
            text = self.choose(clause.manner.german)
            items.append(Item(29 if early else 45, text))
        if clause.place:
            items.append(self._where(clause, self.place(clause.place), new))
        return items

    def _is_going_on(self, clause: Clause) -> bool:
        going_on = clause.tense == "progressive" and not clause.negated
        return going_on and self.chance(0.25)

    def _where(self, clause: Clause, text: str, early: bool) -> Item:
        if clause.verb is verbs.THERE_IS:
            return Item(31, text, 1.2)
        return Item(29.5 if early else 48, text, 0 if clause.negated else 0.25)

    def _time(self, time: Adverbial | PrepositionalPhrase, first: bool) -> Item:
        front = 2.5 if first else 0.4
        if isinstance(time, PrepositionalPhrase):
            return Item(20, self.prepositional(time), front)
        return Item(20, self.choose(time.german), front)

    def _adverb(self, adverb: Adverbial) -> Item:
        text = self.choose(adverb.german)
        if adverb.kind == "attitude":
            return Item(self.choose([18, 24]), text, 1.5)
        return Item(26, text, 0.5 if text in _OPENING else 0)

    def _predicate(self, predicate: Predicate) -> str:
        adjective = self.choose(predicate.adjective.german)
        if predicate.than:
            than = self.phrase(predicate.than, Case.NOMINATIVE).text
            return f"{adjective.comparative} als {than}"
        return f"{DEGREES[predicate.degree]} {adjective.lemma}".strip()
