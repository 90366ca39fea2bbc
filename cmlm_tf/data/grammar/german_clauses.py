"""Puts clauses into German: the verbal bracket and where the finite verb stands."""

from cmlm_tf.data.grammar import verbs
from cmlm_tf.data.grammar.conjugation import (
    Bracket,
    GermanVerb,
    imperative,
    modal_bracket,
    passive_bracket,
    simple_bracket,
    zu_infinitive,
)
from cmlm_tf.data.grammar.german_middle import Item, MiddleFieldWriter
from cmlm_tf.data.grammar.german_phrases import Written
from cmlm_tf.data.grammar.inflection import RELATIVE, Case
from cmlm_tf.data.grammar.syntax import Clause, Gap, NounPhrase, Phrase

#: Where the finite verb of a clause stands.
SECOND, FIRST, FINAL = "second", "first", "final"

#: In the past these are hardly ever perfect.
_PRETERITE = {"sein", "wissen"}


class ClauseWriter(MiddleFieldWriter):
    """Writes clauses in any verb order."""

    #: The auxiliary or modal verb of the last main clause, "" if it had none.
    _auxiliary = ""

    def clause(self, clause: Clause, order: str) -> str:
        """Writes a clause with its finite verb SECOND, FIRST or FINAL."""
        subject = self._subject(clause.subject)
        return self._arranged(clause, order, subject, self._verb(clause))

    def without_subject(self, clause: Clause, order: str) -> str:
        """Writes a clause whose subject is said elsewhere; FIRST or FINAL."""
        subject = self._subject(clause.subject)._replace(text="")
        return self._arranged(clause, order, subject, self._verb(clause))

    def shared(self, first: Clause, second: Clause, order: str) -> str:
        """Writes two clauses whose subject, and auxiliary, is said once."""
        start = self.clause(first, order)
        if order == FINAL:
            return f"{start} und {self.without_subject(second, FINAL)}"
        auxiliary = self._auxiliary
        rest = self.without_subject(second, FIRST)
        if auxiliary and auxiliary == self._auxiliary:
            rest = rest.removeprefix(f"{auxiliary} ")
        return f"{start} und {rest}"

    def zu_clause(self, clause: Clause) -> str:
        """Writes an infinitive clause with zu."""
        verb, subject = self._verb(clause), self._subject(clause.subject)
        items, after = self._middle(clause, verb)
        pronouns = self.pronouns(clause, verb, subject.agreement)
        return _join(*pronouns, *items, zu_infinitive(verb), after)

    def command(self, clause: Clause) -> str:
        """Writes a command with `bitte`."""
        verb, subject = self._verb(clause), self._subject(clause.subject)
        items, after = self._middle(clause, verb)
        pronouns = self.pronouns(clause, verb, subject.agreement)
        finite = imperative(verb, self.style.address)
        start = ["bitte", finite, *pronouns]
        if self.chance(0.5):
            start = [finite, *pronouns, "bitte"]
        return _join(*start, *items, verb.prefix.strip(), after)

    def _arranged(
        self, clause: Clause, order: str, subject: Written, verb: GermanVerb
    ) -> str:
        bracket = self._bracket(clause, verb, subject.agreement)
        pronouns = self.pronouns(clause, verb, subject.agreement)
        ordered = self.items(clause, verb)
        opening = self._opening(ordered) if order == SECOND else None
        if opening:
            ordered.remove(opening)
        items, after = self._with_relative(clause, ordered)
        if order == FINAL:
            return _join(subject.text, *pronouns, *items, bracket.final(), after)
        finite, right = bracket.second()
        self._auxiliary = finite if bracket.tail else ""
        start = [finite, subject.text]
        if order == SECOND:
            start = [opening.text, *start] if opening else [subject.text, finite]
        return _join(*start, *pronouns, *items, right, after)

    def _opening(self, items: list[Item]) -> Item | None:
        """Draws what stands before the finite verb, None for the subject."""
        weights = [item.front for item in items]
        return self.rng.choices([None, *items], [1.0, *weights])[0]

    def _middle(self, clause: Clause, verb: GermanVerb) -> tuple[list[str], str]:
        return self._with_relative(clause, self.items(clause, verb))

    def _with_relative(
        self, clause: Clause, items: list[Item]
    ) -> tuple[list[str], str]:
        """Adds the object's relative clause, behind the bracket if it can.

        Returns:
            The parts of the middle field, and what follows the bracket.
        """
        texts = [item.text for item in items]
        thing = clause.object
        if not isinstance(thing, NounPhrase) or not thing.relative:
            return texts, ""
        agreement = "3p" if thing.plural else "3s"
        noun = Written("", agreement, self.columns[thing])
        relative = self._relative(thing.relative, noun)
        place = next(i for i, item in enumerate(items) if item.is_object)
        if set(texts[place + 1 :]) <= {"nicht"}:
            return texts, relative
        texts[place] += relative
        return texts, ""

    def _subject(self, phrase: Phrase) -> Written:
        written = self.phrase(phrase, Case.NOMINATIVE)
        if isinstance(phrase, NounPhrase) and phrase.relative:
            relative = self._relative(phrase.relative, written)
            return written._replace(text=written.text + relative)
        return written

    def _relative(self, clause: Clause, noun: Written) -> str:
        """Writes a relative clause between commas, for a noun written before."""
        verb = self._verb(clause)
        pronouns = RELATIVE[noun.column]
        if isinstance(clause.subject, Gap):
            subject = noun._replace(text=pronouns[Case.NOMINATIVE])
            return f", {self._arranged(clause, FINAL, subject, verb)},"
        opener = f"{verb.preposition} {pronouns[verb.case]}".strip()
        subject = self._subject(clause.subject)
        return f", {opener} {self._arranged(clause, FINAL, subject, verb)},"

    def _verb(self, clause: Clause) -> GermanVerb:
        choices = clause.verb.german
        if clause.passive:
            choices = tuple(verb for verb in choices if verb.has_plain_object)
        return self.choose(choices)

    def _bracket(self, clause: Clause, verb: GermanVerb, agreement: str) -> Bracket:
        if clause.modal:
            # only the first translation has a past: möchte has none
            past = clause.tense == "past"
            modal = clause.modal.german[0] if past else self.choose(clause.modal.german)
            tense = "preterite" if past else "present"
            return modal_bracket(modal, verb, tense, agreement)
        build = passive_bracket if clause.passive else simple_bracket
        return build(verb, self._tense(clause, verb, agreement), agreement)

    def _tense(self, clause: Clause, verb: GermanVerb, agreement: str) -> str:
        if clause.tense == "future":
            # "gebraucht werden werden" is right but nobody says it
            free = clause.passive or bool(clause.time) and self.chance(0.4)
            return "present" if free else "future"
        if clause.tense == "past":
            if verb.infinitive in _PRETERITE or clause.verb is verbs.THERE_IS:
                return "preterite"
            # "du riefst an" sounds bookish
            return "perfect" if agreement in ("2s", "2p") else self.style.past
        return "perfect" if clause.tense == "perfect" else "present"


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)
