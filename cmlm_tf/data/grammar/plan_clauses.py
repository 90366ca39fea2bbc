"""Draws clauses: who does what, by the frame that a verb stands in."""

import dataclasses
from collections.abc import Callable

from cmlm_tf.data.grammar import times, verbs
from cmlm_tf.data.grammar.modifiers import BY, FOR, VEHICLES, WITH, WITHOUT
from cmlm_tf.data.grammar.plan_phrases import (
    PhrasePlanner,
    Scene,
    adjectives_for,
    nouns_of,
    pick,
)
from cmlm_tf.data.grammar.syntax import (
    Clause,
    Gap,
    NounPhrase,
    Phrase,
    PrepositionalPhrase,
    Pronoun,
)
from cmlm_tf.data.grammar.words import Verb

_MY = ("my", "our")
_KNOWN = Scene(Gap(), _MY, definite=True, nested=True)
_AROUND = ("city", "village", "park", "forest")
#: What an object is when no place or companion should follow it.
_NO_PLACE_AFTER = frozenset({"place", "part", "event"})
#: What is done for somebody else.
_FAVOURS = frozenset("buy order cook choose write repair pack bring".split())


class ClausePlanner(PhrasePlanner):
    """Draws clauses with their objects; adverbs and times are added elsewhere."""

    def personal(self, tense: str, scene: Scene) -> Clause:
        """Returns what the person who is the scene's subject does."""
        frames: dict[Callable[[str, Scene], Clause], float] = {
            self._transitive: 12,
            self._giving: 4,
            self._motion: 3,
            self._travel: 2,
            self._intransitive: 3,
            self._at_home: 2,
        }
        return pick(self.rng, frames)(tense, scene)

    def impersonal(self, tense: str) -> Clause:
        """Returns a clause about a thing, an event or a place."""
        frames: dict[Callable[[str], Clause], float] = {
            self._event: 3,
            self._transport: 3,
            self._passive: 3,
        }
        if tense != "future":
            frames |= {self._copula: 5, self._existential: 2}
        return pick(self.rng, frames)("past" if tense == "perfect" else tense)

    def _verb(self, choices: tuple[Verb, ...], tense: str) -> Verb:
        any_ok = tense != "progressive"
        return self.rng.choice([verb for verb in choices if any_ok or verb.willed])

    def _transitive(self, tense: str, scene: Scene) -> Clause:
        verb = self._verb(verbs.TRANSITIVE, tense)
        phrase = self.phrase(verb.objects, scene)
        if isinstance(phrase, NounPhrase):
            phrase = self.related(phrase, scene)
        clause = Clause(scene.subject, verb, tense, object=phrase)
        if not self._may_continue(verb, phrase):
            return clause
        if verb.base in ("buy", "sell") and self.chance(0.3):
            return dataclasses.replace(clause, manner=times.price(self.rng))
        if self.chance(0.3):
            return dataclasses.replace(clause, place=self.place(scene))
        if verb.base in _FAVOURS and self.chance(0.2):
            favour = PrepositionalPhrase(FOR, self.person(scene))
            return dataclasses.replace(clause, companion=favour)
        return clause

    def _may_continue(self, verb: Verb, phrase: Phrase) -> bool:
        if isinstance(phrase, NounPhrase) and (
            phrase.relative or phrase.noun.kinds & _NO_PLACE_AFTER
        ):
            return False
        return verb.willed and not verb.preposition

    def related(self, phrase: NounPhrase, scene: Scene) -> NounPhrase:
        """Adds a relative clause to a noun phrase now and then."""
        plain = phrase.determiner in ("the", "a") and not phrase.owner
        if scene.nested or not plain or not self.chance(0.16):
            return phrase
        return dataclasses.replace(phrase, relative=self._relative(phrase))

    def _relative(self, phrase: NounPhrase) -> Clause:
        """Returns a relative clause, with a Gap where the noun belongs."""
        if "person" in phrase.noun.kinds and self.chance(0.5):
            tense = self.rng.choice(["present", "past"])
            return self.personal(tense, Scene(Gap(), _MY, nested=True))
        if self.chance(0.2):
            predicate = self.predicate(phrase.noun)
            if predicate.adjective not in phrase.adjectives:
                return Clause(Gap(), verbs.BE, "present", predicate=predicate)
        fitting = [
            verb for verb in verbs.TRANSITIVE if verb.objects & phrase.noun.kinds
        ]
        past = self.chance(0.6)
        return Clause(
            self.subject(pronouns=0.7),
            self.rng.choice(fitting),
            "past" if past else "perfect",
            object=Gap(),
            time=times.draw_time(self.rng, "past")
            if past and self.chance(0.4)
            else None,
        )

    def _giving(self, tense: str, scene: Scene) -> Clause:
        verb = self._verb(verbs.DITRANSITIVE + verbs.WITH_TO, tense)
        return Clause(
            scene.subject,
            verb,
            tense,
            object=self.thing(verb.objects, scene),
            recipient=self.person(scene),
        )

    def _motion(self, tense: str, scene: Scene) -> Clause:
        verb = self._verb(verbs.MOTION, tense)
        rides = verb.base in ("come", "return") and self.chance(0.3)
        return Clause(
            scene.subject,
            verb,
            tense,
            goal=self.goal(),
            manner=self.rng.choice(VEHICLES) if rides else None,
            companion=None if rides else self._companion(scene),
        )

    def _travel(self, tense: str, scene: Scene) -> Clause:
        verb = self._verb(verbs.TRAVEL, tense)
        return Clause(
            scene.subject,
            verb,
            tense,
            goal=self.town(),
            companion=self._companion(scene),
        )

    def _intransitive(self, tense: str, scene: Scene) -> Clause:
        lasts = tense == "past" and self.chance(0.4)
        return Clause(
            scene.subject,
            self._verb(verbs.INTRANSITIVE, tense),
            tense,
            place=self.place(scene) if self.chance(0.6) else None,
            manner=times.duration(self.rng) if lasts else None,
        )

    def _at_home(self, tense: str, scene: Scene) -> Clause:
        return Clause(scene.subject, self._verb(verbs.WITHOUT_PLACE, tense), tense)

    def _companion(self, scene: Scene) -> PrepositionalPhrase | None:
        if not self.chance(0.2):
            return None
        preposition = pick(self.rng, {WITH: 4, WITHOUT: 1})
        return PrepositionalPhrase(preposition, self.person(scene))

    def _copula(self, tense: str) -> Clause:
        subject = self._described()
        predicate = self.predicate(subject.noun, compare=self.chance(0.3))
        return Clause(
            self.related(subject, Scene(Gap())),
            verbs.BE,
            "past" if tense == "past" else "present",
            predicate=predicate,
            negated=self.chance(0.12) and not predicate.degree,
        )

    def _described(self) -> NounPhrase:
        while True:
            if self.chance(0.3):
                phrase = self.person_noun(_MY)
            else:
                phrase = self.thing(
                    [
                        "thing",
                        "clothing",
                        "food",
                        "vehicle",
                        "place",
                        "readable",
                        "watched",
                        "animal",
                    ],
                    _KNOWN,
                )
            if adjectives_for(phrase.noun):
                return dataclasses.replace(phrase, adjectives=())

    def _event(self, tense: str) -> Clause:
        event = self.rng.choice(nouns_of(frozenset({"event", "watched"})))
        subject = NounPhrase(event, "the", self.adjectives(event, 0.2))
        return self._timed(subject, self.rng.choice(verbs.EVENT), tense)

    def _transport(self, tense: str) -> Clause:
        noun = self.rng.choice(nouns_of(frozenset({"transport"})))
        subject = NounPhrase(noun, self.rng.choice(["the", "the", "this"]))
        clause = self._timed(subject, self.rng.choice(verbs.TRANSPORT), tense)
        arrives = clause.verb.base == "arrive" and self.chance(0.5)
        return dataclasses.replace(clause, place=self.town() if arrives else None)

    def _timed(self, subject: Phrase, verb: Verb, tense: str) -> Clause:
        time = (
            times.clock(self.rng)
            if tense == "present" or self.chance(0.6)
            else times.draw_time(self.rng, tense)
        )
        return Clause(subject, verb, tense, time=time, time_first=self.chance(0.2))

    def _existential(self, tense: str) -> Clause:
        buildings = nouns_of(frozenset({"building"}))
        noun = self.rng.choice(buildings)
        determiner, plural = pick(
            self.rng,
            {("a", False): 5, ("many", True): 2, ("no", False): 1, ("some", True): 1},
        )
        around = [n for n in nouns_of(frozenset({"place"})) if n.english in _AROUND]
        area = NounPhrase(self.rng.choice(around), self.rng.choice(["the", "this"]))
        return Clause(
            Pronoun("there"),
            verbs.THERE_IS,
            "past" if tense == "past" else "present",
            object=NounPhrase(noun, determiner, self.adjectives(noun, 0.5), plural),
            place=self.town() if self.chance(0.4) else area,
        )

    def _passive(self, tense: str) -> Clause:
        fitting = [
            verb
            for verb in verbs.TRANSITIVE
            if verb.has_passive and "person" not in verb.objects
        ]
        verb = self.rng.choice(fitting)
        by = self.person_noun(_MY) if self.chance(0.4) else None
        tense = "future" if tense == "future" else "past"
        return Clause(
            self.thing(verb.objects, _KNOWN),
            verb,
            tense,
            companion=PrepositionalPhrase(BY, by) if by else None,
            time=times.draw_time(self.rng, tense),
            time_first=self.chance(0.3),
            passive=True,
        )
