"""Draws clauses with all that may be added: adverbs, times, modal verbs."""

import dataclasses
from typing import TypeAlias

from cmlm_tf.data.grammar import times, verbs
from cmlm_tf.data.grammar.modifiers import ALREADY, ATTITUDE, FREQUENCY, MANNER
from cmlm_tf.data.grammar.plan_clauses import ClausePlanner
from cmlm_tf.data.grammar.plan_phrases import Scene, own
from cmlm_tf.data.grammar.syntax import (
    Clause,
    NounPhrase,
    Phrase,
    PrepositionalPhrase,
)
from cmlm_tf.data.grammar.words import Adverbial, Modal

Time: TypeAlias = Adverbial | PrepositionalPhrase

#: What one can do quickly or carefully.
_MANNERED = frozenset("open close read write wash clean repair pack hide".split())
#: What holds at no particular time.
_STATES = frozenset("love know need understand".split())


class FullClausePlanner(ClausePlanner):
    """Draws clauses as they stand in sentences."""

    def clause(self, tense: str, subject: Phrase | None = None) -> Clause:
        """Returns a clause with adverbs and times; of any frame if no subject."""
        if subject is None and tense != "progressive" and self.chance(0.25):
            return self.impersonal(tense)
        scene = self.scene(subject or self.subject())
        clause = self.personal(tense, scene)
        if isinstance(clause.subject, NounPhrase):
            subject = self.related(clause.subject, scene)
            clause = dataclasses.replace(clause, subject=subject)
        return self._adorned(clause, scene.definite)

    def scene(self, subject: Phrase, negated: bool | None = None) -> Scene:
        """Returns what the phrases beside a subject must agree with.

        Args:
            subject: the subject of the clause.
            negated: whether the clause is negated, drawn if None.
        """
        negated = self.chance(0.12) if negated is None else negated
        owners = (*own(subject) * 6, "my", "our", "his", "her")
        return Scene(subject, owners, definite=negated)

    def _adorned(self, clause: Clause, negated: bool) -> Clause:
        modal = self._modal(clause, negated)
        adverb = None if negated or modal else self._adverb(clause)
        frequent = adverb is not None and adverb.kind == "frequency"
        time = None if frequent else self._time(clause, modal)
        manner = clause.manner
        ends_related = _ends_related(clause)
        mannered = clause.verb.base in _MANNERED and not (negated or ends_related)
        if mannered and self.chance(0.25):
            manner = manner or self.rng.choice(MANNER)
        return dataclasses.replace(
            clause,
            modal=modal,
            negated=negated,
            adverb=adverb,
            time=time,
            time_first=adverb is None and (self.chance(0.3) or ends_related),
            manner=manner,
        )

    def _modal(self, clause: Clause, negated: bool) -> Modal | None:
        fits = clause.tense in ("present", "past") and clause.verb.willed
        if not fits or not self.chance(0.35):
            return None
        past = clause.tense == "past"
        return self.rng.choice(
            [
                modal
                for modal in verbs.MODALS
                if (modal.past or not past) and not (negated and modal is verbs.MUST)
            ]
        )

    def _adverb(self, clause: Clause) -> Adverbial | None:
        tense = clause.tense
        if tense == "perfect" and clause.verb.base not in _STATES:
            return ALREADY if self.chance(0.4) else None
        if tense in ("present", "past"):
            if self.chance(0.5 if tense == "present" else 0.1):
                return self.rng.choice(FREQUENCY)
        return self.rng.choice(ATTITUDE) if self.chance(0.08) else None

    def _time(self, clause: Clause, modal: Modal | None) -> Time | None:
        timeless = clause.tense == "perfect" or clause.verb.base in _STATES
        if timeless or not self.chance(0.55):
            return None
        if clause.verb.willed and self.chance(0.2):
            return self.circumstance()
        ahead = modal is not None and clause.tense == "present"
        return times.draw_time(self.rng, "future" if ahead else clause.tense)


def calm(clause: Clause) -> Clause:
    """Takes away what stands before the subject of an English clause."""
    return dataclasses.replace(
        clause,
        adverb=None if clause.adverb in ATTITUDE else clause.adverb,
        time=None if _ends_related(clause) else clause.time,
        time_first=False,
    )


def _ends_related(clause: Clause) -> bool:
    """Whether the clause ends in a relative clause, which a time would join."""
    return isinstance(clause.object, NounPhrase) and bool(clause.object.relative)
