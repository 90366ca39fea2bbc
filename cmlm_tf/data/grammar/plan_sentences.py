"""Draws whole sentences: clauses with their adverbs, joined and asked and quoted."""

import dataclasses
from collections.abc import Callable
from functools import partial

from cmlm_tf.data.grammar import times, verbs
from cmlm_tf.data.grammar.plan_adverbs import FullClausePlanner, calm
from cmlm_tf.data.grammar.plan_phrases import Scene, adjectives_for, own, pick
from cmlm_tf.data.grammar.syntax import (
    Anaphor,
    Body,
    Clause,
    Command,
    Coordinate,
    NounPhrase,
    Phrase,
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

_TENSES = {"present": 3, "progressive": 2, "past": 6, "perfect": 2, "future": 3}
#: Conjunction, tense of the main clause, tense of the dependent one.
_SUBORDINATIONS = {
    ("because", "past", "past"): 4,
    ("because", "progressive", "present"): 2,
    ("although", "past", "past"): 3,
    ("although", "progressive", "present"): 1,
    ("when (once)", "past", "past"): 3,
    ("if", "future", "present"): 4,
    ("when", "present", "present"): 2,
    ("before", "past", "past"): 2,
    ("while", "past", "past"): 2,
}
#: With an object, what one can ask the place of.
_LOCATED = frozenset("buy find see meet sell eat lose hide order".split())


class SentencePlanner(FullClausePlanner):
    """Draws sentences."""

    def sentence(self) -> Sentence:
        """Returns a sentence of any kind."""
        kinds: dict[Callable[[], Sentence], float] = {
            self._statement: 74,
            self._question: 14,
            self._command: 6,
            self._quotation: 6,
        }
        return pick(self.rng, kinds)()

    def _statement(self) -> Sentence:
        return Statement(self._generic() if self.chance(0.05) else self.body())

    def body(self, nested: bool = False) -> Body:
        """Returns a clause or several; nested ones stay short and in order."""
        kinds: dict[Callable[[], Body], float] = {
            partial(self._simple, nested): 40,
            partial(self._subordinate, nested): 20,
            partial(self._shared, nested): 10,
            self._purpose: 5,
        }
        if not nested:
            kinds |= {self._coordinate: 8, self._report: 14}
        return pick(self.rng, kinds)()

    def _first(self, nested: bool, tense: str, subject: Phrase | None = None) -> Clause:
        clause = self.clause(tense, subject)
        return calm(clause) if nested else clause

    def _any_tense(self) -> str:
        return pick(self.rng, _TENSES)

    def _simple(self, nested: bool) -> Body:
        return self._first(nested, self._any_tense())

    def _generic(self) -> Clause:
        """Returns what one can or should do: `you` is anybody."""
        scene = Scene(Pronoun("you", generic=True), nested=True)
        clause = self.personal("progressive", scene)
        return dataclasses.replace(
            clause,
            tense="present",
            modal=self.rng.choice([verbs.CAN, verbs.CAN, verbs.SHOULD, verbs.MUST]),
            time=times.draw_time(self.rng, "present") if self.chance(0.5) else None,
            time_first=self.chance(0.5),
        )

    def _subordinate(self, nested: bool) -> Body:
        conjunction, tense, dependent_tense = pick(self.rng, _SUBORDINATIONS)
        main = self._first(nested, tense, self.subject())
        if conjunction in ("because", "although") and self.chance(0.4):
            about = self._about(main, dependent_tense)
            if about:
                return Subordinate(main, conjunction, about)
        dependent = self._dependent(conjunction, dependent_tense)
        if nested or not self.chance(0.35):
            return Subordinate(main, conjunction, dependent)
        return Subordinate(calm(main), conjunction, dependent, fronted=True)

    def _about(self, main: Clause, tense: str) -> Clause | None:
        """Returns a clause about the object of the main one: it was old."""
        thing = main.object
        if (
            not isinstance(thing, NounPhrase)
            or "person" in thing.noun.kinds
            or thing.determiner in ("", "no")
            or not adjectives_for(thing.noun)
        ):
            return None
        predicate = self.predicate(thing.noun)
        return Clause(Anaphor(thing), verbs.BE, tense, predicate=predicate)

    def _dependent(self, conjunction: str, tense: str) -> Clause:
        weathered = conjunction not in ("before", "when (once)")
        if weathered and self.chance(0.25):
            weather = self.rng.choice(verbs.WEATHER)
            return Clause(Pronoun("it"), weather, tense)
        if self.chance(0.15) and conjunction != "while":
            return dataclasses.replace(self.impersonal(tense), time_first=False)
        scene = self.scene(self.subject(0.6), negated=False)
        return self.personal(tense, dataclasses.replace(scene, nested=True))

    def _coordinate(self) -> Body:
        tense = self._any_tense()
        conjunction = pick(self.rng, {"and": 1, "but": 1})
        return Coordinate(self.clause(tense), conjunction, calm(self.clause(tense)))

    def _shared(self, nested: bool) -> Body:
        tense = self.rng.choice(["past", "past", "past", "present", "future"])
        subject = self.subject()
        first = dataclasses.replace(self._first(nested, tense, subject), negated=False)
        second = self.personal(tense, self.scene(subject, negated=False))
        if not second.verb.willed:
            return Shared(dataclasses.replace(first, modal=None), second)
        return Shared(first, dataclasses.replace(second, modal=first.modal))

    def _purpose(self) -> Body:
        subject = self.subject()
        scene = self.scene(subject, negated=False)
        tense = self.rng.choice(["past", "future", "progressive", "perfect"])
        main = self._motion(tense, scene)
        while True:
            aim = self.personal("progressive", dataclasses.replace(scene, nested=True))
            if not aim.goal and not aim.place:
                aim = dataclasses.replace(aim, tense="present")
                return Purpose(dataclasses.replace(main, companion=None), aim)

    def _report(self) -> Body:
        if self.chance(0.25):
            subject = Pronoun(self.rng.choice(["I", "we", "they"]))
            return self._indirect_question(subject)
        verb = self.rng.choice(list(verbs.REPORT))
        tense = self.rng.choice(["present", "present", "past"])
        main = Clause(self.subject(0.6), verb, tense)
        link = "" if verbs.REPORT[verb] and self.chance(0.4) else "that"
        past = self._first(True, "past")
        return Report(main, link, self.body(True) if tense == "present" else past)

    def _indirect_question(self, subject: Phrase, negated: bool = True) -> Report:
        main = Clause(subject, verbs.KNOW, "present", negated=negated)
        link = self.rng.choice(["whether", "whether", "when", "why", "where"])
        content, word = self._asked(link)
        return Report(main, word or "whether", content)

    def _asked(self, word: str) -> tuple[Clause, str]:
        """Returns a clause that can be asked about with the word, or with none."""
        you = Pronoun("you") if self.chance(0.4) else None
        clause = calm(self.clause(self._any_tense(), you))
        plain = not clause.goal and not clause.predicate
        if word == "when" and clause.verb.willed:
            return dataclasses.replace(clause, time=None, adverb=None), word
        located = clause.object is None or clause.verb.base in _LOCATED
        if word == "where" and plain and located:
            return dataclasses.replace(clause, place=None), word
        return clause, word if word == "why" else ""

    def _question(self) -> Sentence:
        if self.chance(0.15):
            return Question(self._indirect_question(Pronoun("you"), negated=False))
        if self.chance(0.15):
            return Question(calm(self.clause(self._any_tense(), Pronoun("who"))))
        word = pick(self.rng, {"": 5, "when": 1, "why": 1, "where": 1})
        return Question(*self._asked(word))

    def _command(self) -> Sentence:
        scene = self.scene(Pronoun("you"), negated=False)
        clause = self.personal("progressive", scene)
        time = times.draw_time(self.rng, "future") if self.chance(0.4) else None
        clause = dataclasses.replace(clause, tense="present", time=time)
        return Command(calm(clause), self.chance(0.6))

    def _quotation(self) -> Sentence:
        asks = self.chance(0.35)
        speech = self._question() if asks else Statement(self.clause(self._any_tense()))
        subject = self.subject(0.3)
        while own(subject) == ("your",):
            subject = self.subject(0.3)
        speaker = Clause(subject, verbs.ASK if asks else verbs.SAY, "past")
        return Quotation(speaker, speech, self.chance(0.4))
