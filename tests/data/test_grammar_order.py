"""German word order: all translations of a sentence, by hand."""

import random

from absl.testing import parameterized

from cmlm_tf.data.grammar import verbs
from cmlm_tf.data.grammar.english import english
from cmlm_tf.data.grammar.german import german
from cmlm_tf.data.grammar.modifiers import QUALITIES, SIZES_AGES_COLOURS
from cmlm_tf.data.grammar.nouns import FIRST_NAMES, NOUNS
from cmlm_tf.data.grammar.syntax import (
    Anaphor,
    Clause,
    Command,
    Gap,
    NamePhrase,
    NounPhrase,
    Numeral,
    Predicate,
    Pronoun,
    Purpose,
    Question,
    Quotation,
    Report,
    Shared,
    Statement,
    Subordinate,
)
from cmlm_tf.data.grammar.words import adverbial

_NOUNS = {noun.english: noun for noun in NOUNS}
_ADJECTIVES = {each.english: each for each in QUALITIES + SIZES_AGES_COLOURS}
_VERBS = {verb.base: verb for verb in reversed(verbs.TRANSITIVE)}
_ANNA = NamePhrase(next(name for name in FIRST_NAMES if name.english == "Anna"))
_HE = Pronoun("he")


def _phrase(words, plural=False, **kwargs):
    """Reads `determiner [adjective] noun`."""
    determiner, *adjectives, noun = words.split()
    return NounPhrase(
        _NOUNS[noun],
        determiner.strip("-"),
        tuple(_ADJECTIVES[each] for each in adjectives),
        plural,
        **kwargs,
    )


def _call(tense="present", subject=_HE, **kwargs):
    thing = _phrase("his brother")
    return Clause(subject, _VERBS["call"], tense, object=thing, **kwargs)


def _translations(sentence):
    return {german(sentence, random.Random(seed)) for seed in range(200)}


class WordOrderTest(parameterized.TestCase):
    """All translations of a sentence, by hand."""

    def assert_translations(self, sentence, source, *right):
        self.assertEqual(english(sentence), source)
        self.assertEqual(_translations(sentence), set(right))

    def test_separable_verb_in_a_main_clause(self):
        self.assert_translations(
            Statement(_call()), "He calls his brother.", "Er ruft seinen Bruder an."
        )

    def test_past_is_preterite_or_perfect(self):
        self.assert_translations(
            Statement(_call("past")),
            "He called his brother.",
            "Er rief seinen Bruder an.",
            "Er hat seinen Bruder angerufen.",
        )

    def test_modal_verb_sends_the_infinitive_to_the_end(self):
        self.assert_translations(
            Statement(_call(modal=verbs.CAN)),
            "He can call his brother.",
            "Er kann seinen Bruder anrufen.",
        )

    def test_motion_has_its_perfect_with_sein(self):
        clause = Clause(_HE, verbs.MOTION[1], "perfect", goal=_phrase("the station"))
        self.assert_translations(
            Statement(clause),
            "He has driven to the station.",
            "Er ist zum Bahnhof gefahren.",
        )

    def test_verb_stands_last_in_subordinate_clauses(self):
        rain = Clause(Pronoun("it"), verbs.WEATHER[0], "past")
        self.assert_translations(
            Statement(Subordinate(rain, "although", _call("past"))),
            "It rained although he called his brother.",
            *(
                f"Es {first}, {word} er {second}."
                for word in ("obwohl", "obgleich")
                for first, second in (
                    ("regnete", "seinen Bruder anrief"),
                    ("hat geregnet", "seinen Bruder angerufen hat"),
                )
            ),
        )

    def test_verb_follows_a_fronted_clause_at_once(self):
        rain = Clause(Pronoun("it"), verbs.WEATHER[0], "present")
        self.assert_translations(
            Statement(Subordinate(_call("future"), "if", rain, fronted=True)),
            "If it rains, he will call his brother.",
            "Wenn es regnet, wird er seinen Bruder anrufen.",
            "Falls es regnet, wird er seinen Bruder anrufen.",
        )

    def test_verb_stays_second_after_a_fronted_time(self):
        found = _translations(
            Statement(_call(time=adverbial("today", "heute", "time"), time_first=True))
        )
        self.assertEqual(
            found,
            {
                "Heute ruft er seinen Bruder an.",
                "Er ruft heute seinen Bruder an.",
                "Er ruft seinen Bruder heute an.",
            },
        )

    def test_because_with_denn_keeps_the_verb_second(self):
        rain = Clause(Pronoun("it"), verbs.WEATHER[0], "present")
        self.assert_translations(
            Statement(Subordinate(rain, "because", _call())),
            "It rains because he calls his brother.",
            "Es regnet, weil er seinen Bruder anruft.",
            "Es regnet, da er seinen Bruder anruft.",
            "Es regnet, denn er ruft seinen Bruder an.",
        )

    def test_that_clause(self):
        report = Report(Clause(Pronoun("we"), verbs.SAY, "present"), "that", _call())
        self.assert_translations(
            Statement(report),
            "We say that he calls his brother.",
            "Wir sagen, dass er seinen Bruder anruft.",
            "Wir sagen, er ruft seinen Bruder an.",
        )

    def test_you_in_a_question(self):
        clause = Clause(Pronoun("you"), _VERBS["see"], "present", object=Pronoun("I"))
        self.assert_translations(
            Question(clause),
            "Do you see me?",
            "Siehst du mich?",
            "Sehen Sie mich?",
            "Seht ihr mich?",
        )

    def test_generic_you_may_be_man(self):
        subject = Pronoun("you", generic=True)
        clause = Clause(subject, verbs.WITHOUT_PLACE[0], "present", modal=verbs.CAN)
        found = _translations(Statement(clause))
        self.assertLen(found, 4)
        self.assertTrue(any(text.startswith("Man kann ") for text in found))

    def test_reflexive_command(self):
        clause = Clause(Pronoun("you"), verbs.WITHOUT_PLACE[0], "present")
        self.assert_translations(
            Command(clause, please_first=True),
            "Please hurry.",
            *(
                text + mark
                for mark in "!."
                for text in (
                    "Bitte beeil dich",
                    "Beeil dich bitte",
                    "Bitte beeilt euch",
                    "Beeilt euch bitte",
                    "Bitte beeilen Sie sich",
                    "Beeilen Sie sich bitte",
                )
            ),
        )

    def test_relative_pronoun_takes_its_case_from_the_verb(self):
        helped = Clause(Pronoun("we"), _VERBS["help"], "perfect", object=Gap())
        man = _phrase("the man", relative=helped)
        self.assert_translations(
            Statement(Clause(man, verbs.INTRANSITIVE[0], "present")),
            "The man that we have helped works.",
            "Der Mann, dem wir geholfen haben, arbeitet.",
        )

    def test_relative_clause_follows_the_verbal_bracket(self):
        works = Clause(Gap(), verbs.INTRANSITIVE[0], "present")
        woman = _phrase("a woman", relative=works)
        self.assert_translations(
            Statement(Clause(_HE, _VERBS["meet"], "perfect", object=woman)),
            "He has met a woman who works.",
            "Er hat eine Frau getroffen, die arbeitet.",
        )

    def test_pronoun_agrees_with_the_synonym_that_was_drawn(self):
        car = _phrase("a car")
        main = Clause(_HE, _VERBS["sell"], "perfect", object=car)
        old = Predicate(_ADJECTIVES["old"])
        why = Clause(Anaphor(car), verbs.BE, "present", predicate=old)
        self.assert_translations(
            Statement(Subordinate(main, "although", why)),
            "He has sold a car although it is old.",
            *(
                f"Er hat {car} verkauft, {word} {it} alt ist."
                for word in ("obwohl", "obgleich")
                for car, it in (("ein Auto", "es"), ("einen Wagen", "er"))
            ),
        )

    def test_negation_of_new_and_known_objects(self):
        key = Clause(_HE, _VERBS["hide"], "present", object=_phrase("a key"))
        self.assert_translations(
            Statement(
                Clause(_HE, key.verb, "present", object=key.object, negated=True)
            ),
            "He does not hide a key.",
            "Er versteckt keinen Schlüssel.",
        )
        known = _phrase("the key")
        self.assert_translations(
            Statement(Clause(_HE, key.verb, "present", object=known, negated=True)),
            "He does not hide the key.",
            "Er versteckt den Schlüssel nicht.",
        )

    def test_owner(self):
        book = NounPhrase(_NOUNS["book"], "", (_ADJECTIVES["old"],), owner=_ANNA)
        self.assert_translations(
            Statement(Clause(_HE, _VERBS["hide"], "present", object=book)),
            "He hides Anna's old book.",
            "Er versteckt Annas altes Buch.",
            "Er versteckt das alte Buch von Anna.",
        )

    def test_compound_or_genitive(self):
        window = NounPhrase(_NOUNS["kitchen window"], "the")
        self.assert_translations(
            Statement(Clause(_HE, _VERBS["clean"], "perfect", object=window)),
            "He has cleaned the kitchen window.",
            *(
                f"Er hat {it} {verb}."
                for it in ("das Küchenfenster", "das Fenster der Küche")
                for verb in ("geputzt", "gereinigt")
            ),
        )

    def test_purpose_and_shared_subject(self):
        cake = NounPhrase(_NOUNS["egg"], "", plural=True, numeral=Numeral(22, False))
        buy = Clause(_HE, _VERBS["buy"], "present", object=cake)
        drive = Clause(_HE, verbs.MOTION[1], "present", goal=_phrase("the park"))
        self.assert_translations(
            Statement(Purpose(drive, buy)),
            "He drives to the park to buy twenty-two eggs.",
            "Er fährt in den Park, um zweiundzwanzig Eier zu kaufen.",
        )
        self.assert_translations(
            Statement(Shared(drive, buy)),
            "He drives to the park and buys twenty-two eggs.",
            "Er fährt in den Park und kauft zweiundzwanzig Eier.",
        )

    def test_quotation(self):
        speaker = Clause(_ANNA, verbs.SAY, "past")
        self.assert_translations(
            Quotation(speaker, Statement(_call()), speech_first=True),
            '"He calls his brother," Anna said.',
            "„Er ruft seinen Bruder an“, sagte Anna.",
            "„Er ruft seinen Bruder an“, hat Anna gesagt.",
        )
        self.assert_translations(
            Quotation(speaker, Statement(_call()), speech_first=False),
            'Anna said, "He calls his brother."',
            "Anna sagte: „Er ruft seinen Bruder an.“",
            "Anna hat gesagt: „Er ruft seinen Bruder an.“",
        )

    def test_passive(self):
        window = _phrase("the window")
        clause = Clause(window, _VERBS["hide"], "past", passive=True)
        self.assert_translations(
            Statement(clause),
            "The window was hidden.",
            "Das Fenster wurde versteckt.",
            "Das Fenster ist versteckt worden.",
        )
