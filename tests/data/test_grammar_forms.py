"""German forms and numbers, against what a grammar book says."""

import random

from absl.testing import parameterized

from cmlm_tf.data.grammar.conjugation import (
    AGREEMENTS,
    german_verb,
    imperative,
    present,
    preterite,
    zu_infinitive,
)
from cmlm_tf.data.grammar.german_phrases import PhraseWriter, Style
from cmlm_tf.data.grammar.inflection import Case, german_noun, linking_form
from cmlm_tf.data.grammar.modifiers import QUALITIES, SIZES_AGES_COLOURS
from cmlm_tf.data.grammar.nouns import NOUNS
from cmlm_tf.data.grammar.numerals import (
    english_digits,
    english_number,
    german_digits,
    german_number,
    german_numbers,
)
from cmlm_tf.data.grammar.syntax import (
    NounPhrase,
)

_NOUNS = {noun.english: noun for noun in NOUNS}
_ADJECTIVES = {each.english: each for each in QUALITIES + SIZES_AGES_COLOURS}


def _phrase(words, plural=False):
    """Reads `determiner [adjective] noun`."""
    determiner, *adjectives, noun = words.split()
    return NounPhrase(
        _NOUNS[noun],
        determiner.strip("-"),
        tuple(_ADJECTIVES[each] for each in adjectives),
        plural,
    )


class DeclensionTest(parameterized.TestCase):
    @parameterized.parameters(
        ("the old man", False, "der alte Mann|den alten Mann|dem alten Mann|"
         "des alten Mannes"),
        ("the old man", True, "die alten Männer|die alten Männer|den alten Männern|"
         "der alten Männer"),
        ("a small child", False, "ein kleines Kind|ein kleines Kind|"
         "einem kleinen Kind|eines kleinen Kindes"),
        ("the red door", False, "die rote Tür|die rote Tür|der roten Tür|"
         "der roten Tür"),
        ("no expensive car", True, "keine teuren Autos|keine teuren Autos|"
         "keinen teuren Autos|keiner teuren Autos"),
        ("my new boss", False, "mein neuer Chef|meinen neuen Chef|"
         "meinem neuen Chef|meines neuen Chefs"),
        ("this young student", False, "dieser junge Student|"
         "diesen jungen Studenten|diesem jungen Studenten|dieses jungen Studenten"),
        ("- hot coffee", False, "heißer Kaffee|heißen Kaffee|heißem Kaffee|"
         "heißen Kaffees"),
        ("- fresh egg", True, "frische Eier|frische Eier|frischen Eiern|"
         "frischer Eier"),
        ("many old house", True, "viele alte Häuser|viele alte Häuser|"
         "vielen alten Häusern|vieler alter Häuser"),
        ("all old house", True, "alle alten Häuser|alle alten Häuser|"
         "allen alten Häusern|aller alten Häuser"),
    )  # fmt: skip
    def test_four_cases(self, words, plural, expected):
        phrase = _phrase(words, plural)
        for case, right in zip(Case, expected.split("|"), strict=True):
            found = {
                PhraseWriter(random.Random(seed), Style("du", "man", "perfect"))
                .phrase(phrase, case)
                .text
                for seed in range(60)
            }
            self.assertIn(right, found)

    @parameterized.parameters(
        ("her", "ihr"), ("our", "unser"), ("their", "ihr"), ("his", "sein")
    )
    def test_possessives_have_no_ending_before_a_masculine_subject(self, word, right):
        phrase = _phrase(f"{word} father")
        writer = PhraseWriter(random.Random(1), Style("du", "man", "perfect"))
        self.assertEqual(writer.phrase(phrase, Case.NOMINATIVE).text, f"{right} Vater")

    @parameterized.parameters(("du", "deiner"), ("Sie", "Ihrer"), ("ihr", "eurer"))
    def test_your_follows_the_address(self, address, right):
        writer = PhraseWriter(random.Random(1), Style(address, "man", "perfect"))
        phrase = _phrase("your mother")
        self.assertEqual(writer.phrase(phrase, Case.DATIVE).text, f"{right} Mutter")

    @parameterized.parameters(
        ("der Film, Filme, Films", Case.GENITIVE, False, "Films"),
        ("das Haus, Häuser", Case.GENITIVE, False, "Hauses"),
        ("der Tee", Case.GENITIVE, False, "Tees"),
        ("der Junge, Jungen, Jungen", Case.ACCUSATIVE, False, "Jungen"),
        ("das Büro, Büros", Case.DATIVE, True, "Büros"),
        ("der Brief, Briefe", Case.DATIVE, True, "Briefen"),
        ("die Frau, Frauen", Case.DATIVE, True, "Frauen"),
    )
    def test_nouns(self, entry, case, plural, right):
        self.assertEqual(german_noun(entry).form(case, plural), right)

    @parameterized.parameters(
        ("kitchen door", "Küchentür"),
        ("weekend trip", "Wochenendausflug"),
        ("birthday present", "Geburtstagsgeschenk"),
        ("newspaper article", "Zeitungsartikel"),
        ("university library", "Universitätsbibliothek"),
        ("children's book", "Kinderbuch"),
        ("coffee cup", "Kaffeetasse"),
        ("school bag", "Schultasche"),
    )
    def test_compounds_get_their_linking_element(self, english_noun, right):
        self.assertEqual(_NOUNS[english_noun].german[0].lemma, right)

    def test_linking_form_of_other_nouns_is_the_noun(self):
        self.assertEqual(linking_form("Garten"), "Garten")

    def test_every_noun_has_a_gender_and_starts_with_a_capital(self):
        for noun in NOUNS:
            for entry in noun.german:
                self.assertIn(entry.gender, ("m", "f", "n"))
                self.assertTrue(entry.lemma[0].isupper(), entry)


class ConjugationTest(parameterized.TestCase):
    @parameterized.parameters(
        ("arbeiten", "arbeite arbeitest arbeitet arbeiten arbeitet arbeiten"),
        ("öffnen", "öffne öffnest öffnet öffnen öffnet öffnen"),
        ("tanzen", "tanze tanzt tanzt tanzen tanzt tanzen"),
        ("fahren, fährt, fuhr, ist gefahren", "fahre fährst fährt fahren fahrt fahren"),
        ("halten, hält, hielt, gehalten", "halte hältst hält halten haltet halten"),
        ("essen, isst, aß, gegessen", "esse isst isst essen esst essen"),
        ("erinnern", "erinnere erinnerst erinnert erinnern erinnert erinnern"),
    )
    def test_present(self, entry, right):
        verb = german_verb(entry)
        self.assertEqual([present(verb, each) for each in AGREEMENTS], right.split())

    @parameterized.parameters(
        ("warten", "wartete wartetest wartete warteten wartetet warteten"),
        ("gehen, geht, ging, ist gegangen", "ging gingst ging gingen gingt gingen"),
        ("finden, findet, fand, gefunden", "fand fandest fand fanden fandet fanden"),
        ("werden, wird, wurde, ist geworden",
         "wurde wurdest wurde wurden wurdet wurden"),
    )  # fmt: skip
    def test_preterite(self, entry, right):
        verb = german_verb(entry)
        self.assertEqual([preterite(verb, each) for each in AGREEMENTS], right.split())

    @parameterized.parameters(
        ("kaufen", "gekauft"),
        ("besuchen", "besucht"),
        ("reparieren", "repariert"),
        ("auf|machen", "aufgemacht"),
        ("an|rufen, ruft, rief, gerufen", "angerufen"),
        ("öffnen", "geöffnet"),
    )
    def test_participle(self, entry, right):
        self.assertEqual(german_verb(entry).participle, right)

    @parameterized.parameters(
        ("lesen, liest, las, gelesen", "lies"),
        ("nehmen, nimmt, nahm, genommen", "nimm"),
        ("fahren, fährt, fuhr, ist gefahren", "fahr"),
        ("warten", "warte"),
        ("reinigen", "reinige"),
        ("schreiben, schreibt, schrieb, geschrieben", "schreib"),
    )
    def test_command_to_du(self, entry, right):
        self.assertEqual(imperative(german_verb(entry), "du"), right)

    def test_zu_goes_inside_a_separable_verb(self):
        self.assertEqual(zu_infinitive(german_verb("ein|kaufen")), "einzukaufen")
        self.assertEqual(zu_infinitive(german_verb("kaufen")), "zu kaufen")


class NumeralTest(parameterized.TestCase):
    @parameterized.parameters(
        (0, "null"), (1, "eins"), (12, "zwölf"), (16, "sechzehn"), (17, "siebzehn"),
        (21, "einundzwanzig"), (30, "dreißig"), (66, "sechsundsechzig"),
        (70, "siebzig"), (99, "neunundneunzig"), (100, "einhundert"),
        (101, "einhunderteins"), (216, "zweihundertsechzehn"),
        (777, "siebenhundertsiebenundsiebzig"), (999, "neunhundertneunundneunzig"),
    )  # fmt: skip
    def test_german_words(self, number, right):
        self.assertEqual(german_number(number), right)

    def test_german_words_read_back(self):
        for number in range(1000):
            for word in german_numbers(number):
                self.assertEqual(_read_german(word), number, word)

    @parameterized.parameters(
        (8, "eight"), (13, "thirteen"), (40, "forty"), (85, "eighty-five"),
        (300, "three hundred"), (512, "five hundred and twelve"),
    )  # fmt: skip
    def test_english_words(self, number, right):
        self.assertEqual(english_number(number), right)

    def test_digits_swap_point_and_comma(self):
        self.assertEqual(english_digits(1234.5, 2), "1,234.50")
        self.assertEqual(german_digits(1234.5, 2), "1.234,50")


def _read_german(word):
    """Reads a number word from left to right; knows nothing of how it is written."""
    hundreds, found, rest = word.rpartition("hundert")
    value = 100 * (_read_small(hundreds) if hundreds else 1) if found else 0
    return value + (_read_small(rest) if rest else 0)


def _read_small(word):
    units = dict(eins=1, ein=1, zwei=2, drei=3, vier=4, fünf=5, sechs=6, sieben=7)
    units |= dict(null=0, acht=8, neun=9, zehn=10, elf=11, zwölf=12)
    units |= dict(sechzehn=16, siebzehn=17)
    tens = dict(zwanzig=20, dreißig=30, vierzig=40, fünfzig=50, sechzig=60)
    tens |= dict(siebzig=70, achtzig=80, neunzig=90)
    if word in units or word in tens:
        return (units | tens)[word]
    if word.endswith("zehn"):
        return 10 + units[word.removesuffix("zehn")]
    unit, _, ten = word.partition("und")
    return units[unit] + tens[ten]
