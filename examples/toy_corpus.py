"""Writes a toy English-German corpus, for a first model in minutes.

    python examples/toy_corpus.py --output_dir=toy

The folder gets train.en, train.de, dev.en, dev.de, test.en and test.de. No English
sentence is in two splits; in train each comes twice. German synonyms, tense and word
order are drawn for every translation, so a sentence has several right ones.
"""

import argparse
import itertools
from collections.abc import Callable
from pathlib import Path
from random import choice, seed
from typing import NamedTuple


class Word(NamedTuple):
    """An English word and its German synonyms, each split at blanks."""

    kinds: list[str]
    english: list[str]
    german: list[list[str]]


def words(table: str) -> list[Word]:
    """Reads lines such as `person animal | friendly | freundlich / nett`."""
    rows = [line.split("|") for line in table.strip().splitlines()]
    return [
        Word(k.split(), e.split(), [*map(str.split, g.split("/"))]) for k, e, g in rows
    ]


# Kind | singular plural | article singular plural [singular of the other cases].
NOUNS = words("""
person | man men | der Mann Männer
person | woman women | die Frau Frauen
person | child children | das Kind Kinder
person | friend friends | der Freund Freunde / die Freundin Freundinnen
person | teacher teachers | der Lehrer Lehrer / die Lehrerin Lehrerinnen
person | doctor doctors | der Arzt Ärzte / die Ärztin Ärztinnen
person | client clients | der Kunde Kunden Kunden / die Kundin Kundinnen
animal | dog dogs | der Hund Hunde
animal | cat cats | die Katze Katzen
text | book books | das Buch Bücher
text | letter letters | der Brief Briefe
text | story stories | die Geschichte Geschichten / die Erzählung Erzählungen
thing | car cars | das Auto Autos / der Wagen Wagen
thing | bicycle bicycles | das Fahrrad Fahrräder / das Rad Räder
thing | phone phones | das Telefon Telefone / das Handy Handys
thing | key keys | der Schlüssel Schlüssel
lid | door doors | die Tür Türen
lid | window windows | das Fenster Fenster
lid | suitcase suitcases | der Koffer Koffer
lid | box boxes | die Kiste Kisten / die Schachtel Schachteln
place | house houses | das Haus Häuser
place | garden gardens | der Garten Gärten
place | church churches | die Kirche Kirchen
place | station stations | der Bahnhof Bahnhöfe
place | shop shops | der Laden Läden / das Geschäft Geschäfte
""")
# Kinds of object | present past [particle] | [prefix.]infinitive [singular of the
# present, of the past, participle, if irregular] [+dat: case of the object].
VERBS = words("""
person animal text thing lid | see saw | sehen sieht sah gesehen
person animal text thing lid | find found | finden findet fand gefunden
person animal text thing lid | look looked for | suchen
animal text thing | look looked at | an.sehen sieht sah gesehen / an.schauen
animal text thing | buy bought | kaufen
animal text thing | sell sold | verkaufen verkauft verkaufte verkauft
lid | open opened | öffnen öffnet öffnete geöffnet / auf.machen
lid | close closed | schließen schließt schloss geschlossen / zu.machen
text | read read | lesen liest las gelesen
text | write wrote | schreiben schreibt schrieb geschrieben
person | visit visited | besuchen besucht besuchte besucht
person | invite invited | ein.laden lädt lud geladen
person | help helped | helfen hilft half geholfen +dat
person | thank thanked | danken +dat
none | sing sang | singen singt sang gesungen
none | work worked | arbeiten arbeitet arbeitete gearbeitet
""")
ADJECTIVES = words("""
person animal text thing lid place | old | alt
person animal text thing lid place | strange | seltsam / merkwürdig
person animal thing lid place | small | klein
person animal | friendly | freundlich / nett
text thing lid place | new | neu
text thing lid place | beautiful | schön / hübsch
animal text thing lid | expensive | teur
""")
PREPOSITIONS = words("""
place | in | in +dat
place | in front of | vor +dat
place | near | bei +dat / in der Nähe von +dat
person | with | mit +dat
person | without | ohne
person | for | für
""")
TIMES = words("present|now|jetzt / nun \n past|yesterday|gestern")
# How a clause begins; the kind is the place of the German verb.
LINKS = words("second|| \n first|| \n first|why|warum \n last|because|, weil / , da")
PRONOUNS = words("one|he|er \n one|she|sie \n many|we|wir \n many|they|sie")
NO_WORD = Word([], [], [[]])

NOMINATIVE, ACCUSATIVE, DATIVE = range(3)
# The strong endings in these cases; those of an adjective behind a strong ending.
ENDINGS = {
    "der": (["er", "en", "em"], ["e", "en", "en"]),
    "die": (["e", "e", "er"], ["e", "e", "en"]),
    "das": (["es", "es", "em"], ["e", "e", "en"]),
    "plural": (["e", "e", "en"], ["en", "en", "en"]),
}
DETERMINERS = {"the": "d", "this": "dies", "a": "ein", "no": "kein", "my": "mein"}
# Where ein, kein and mein have no ending: there the adjective has the strong one.
BARE = [("der", NOMINATIVE), ("das", NOMINATIVE), ("das", ACCUSATIVE)]
# What is spelled in another way than it is put together.
SPELLINGS = {" a o": " an o", " a e": " an e", " ,": ","}
SPELLINGS |= {" de ": " die ", " des ": " das "}
SPELLINGS |= {" in dem ": " im ", " bei dem ": " beim ", " von dem ": " vom "}


class Phrase(NamedTuple):
    """A noun and its company; without determiner, a pronoun, an adverb or nothing."""

    noun: Word = NO_WORD
    plural: bool = False
    determiner: str = ""
    adjective: Word = NO_WORD
    preposition: Word = NO_WORD


class Clause(NamedTuple):
    """A statement, a question or, after another clause, a subordinate one."""

    link: Word
    subject: Phrase
    verb: Word
    object: Phrase
    time: Phrase
    place: Phrase
    past: bool
    negated: bool


def draw(table: list[Word], kind: str) -> Word:
    """Draws a word of a kind."""
    return choice([word for word in table if kind in word.kinds])


def draw_phrase(kind: str, preposition: Word = NO_WORD) -> Phrase:
    """Draws a noun, its number, its determiner and perhaps an adjective."""
    adjective = choice([draw(ADJECTIVES, kind), NO_WORD])
    determiner = choice(["the", "the", "a", "a", "this", "my"])
    plural = choice([False, False, True])
    return Phrase(draw(NOUNS, kind), plural, determiner, adjective, preposition)


def draw_clause(order: str, tense: str) -> Clause:
    """Draws a verb and what goes with it."""
    verb, pronoun, preposition = choice(VERBS), choice(PRONOUNS), choice(PREPOSITIONS)
    kind = choice(verb.kinds)
    person, other = draw_phrase("person"), Phrase(pronoun, "many" in pronoun.kinds)
    place = draw_phrase(*preposition.kinds, preposition)
    time = Phrase(draw(TIMES, tense))
    return Clause(
        link=draw(LINKS, order),
        subject=choice([person, person, other]),
        verb=verb,
        object=Phrase() if kind == "none" else draw_phrase(kind),
        time=choice([time, Phrase(), Phrase()]),
        place=choice([place, Phrase(), Phrase()]),
        past=tense == "past",
        negated=choice([True, False, False, False]),
    )


def english_phrase(phrase: Phrase) -> list[str]:
    """Returns the words in English."""
    noun, plural, determiner, adjective, preposition = phrase
    if not determiner:
        return noun.english
    if plural:
        determiner = {"a": "", "this": "these"}.get(determiner, determiner)
    return [*preposition.english, determiner, *adjective.english, noun.english[plural]]


def english_clause(clause: Clause) -> list[str]:
    """Returns the words in English; questions and negations take `do`."""
    present, past, *particle = clause.verb.english
    subject, s = english_phrase(clause.subject), "" if clause.subject.plural else "s"
    do = "did" if clause.past else "does" if s else "do"
    if "first" in clause.link.kinds:
        verb = [do, *subject, "not" * clause.negated, present]
    elif clause.negated:
        verb = [*subject, do, "not", present]
    else:
        verb = [*subject, past if clause.past else present + s]
    others = map(english_phrase, (clause.object, clause.place, clause.time))
    return [*clause.link.english, *verb, *particle, *itertools.chain(*others)]


def german_phrase(phrase: Phrase, case: int) -> list[str]:
    """Returns the words in German; the ending that shows the case comes once."""
    entry, adjective = choice(phrase.noun.german), choice(phrase.adjective.german)
    if not phrase.determiner:
        return entry
    article, singular, plural, *other_cases = entry
    row = "plural" if phrase.plural else article
    strong, behind_strong = (endings[case] for endings in ENDINGS[row])
    stem = DETERMINERS[phrase.determiner]
    determiner, ending = stem + strong, behind_strong
    if stem == "ein" and phrase.plural:
        determiner, ending = "", strong
    elif stem.endswith("ein") and (row, case) in BARE:
        determiner, ending = stem, strong
    noun = other_cases[0] if other_cases and case != NOMINATIVE else singular
    if phrase.plural:
        noun = plural + "n" * (case == DATIVE and plural[-1] not in "ns")
    return [determiner, *(stem + ending for stem in adjective), noun]


def german_verb(clause: Clause, entry: list[str]) -> tuple[str, str, str]:
    """Returns the verb: in first or second place, at the end, and if all is there."""
    prefix, _, infinitive = entry[0].rpartition(".")
    stem, plural = infinitive[:-2], clause.subject.plural
    present, past, participle = entry[1:] or [stem + "t", stem + "te", f"ge{stem}t"]
    if clause.past and choice([True, False]):
        have, participle = "haben" if plural else "hat", prefix + participle
        return have, participle, f"{participle} {have}"
    past += plural * ("n" if past.endswith("e") else "en")
    verb = past if clause.past else infinitive if plural else present
    return verb, prefix, prefix + verb


def governed(entry: list[str]) -> tuple[list[str], int]:
    """Splits an entry such as `mit +dat` into words and the case that they govern."""
    return (entry[:-1], DATIVE) if "+dat" in entry else (entry, ACCUSATIVE)


def german_clause(clause: Clause) -> list[str]:
    """Returns the words in German."""
    entry, case = governed(choice(clause.verb.german))
    verb, end, whole = german_verb(clause, entry)
    thing, negation = clause.object, ["nicht"] * clause.negated
    if clause.negated and thing.determiner == "a":
        thing, negation = thing._replace(determiner="no"), []
    preposition, place_case = governed(choice(clause.place.preposition.german))
    place = [*preposition, *german_phrase(clause.place, place_case)]
    others = [*german_phrase(thing, case), *negation, *place]
    subject = german_phrase(clause.subject, NOMINATIVE)
    time = choice(clause.time.noun.german)
    link = choice(clause.link.german)
    if "last" in clause.link.kinds:
        return [*link, *subject, *time, *others, whole]
    if "first" in clause.link.kinds:
        return [*link, verb, *subject, *time, *others, end]
    if time and choice([True, False]):
        return [*time, verb, *subject, *others, end]
    return [*subject, verb, *time, *others, end]


def written(clauses: list[Clause], in_language: Callable[[Clause], list[str]]) -> str:
    """Writes a sentence by `english_clause` or `german_clause`."""
    words = filter(None, itertools.chain(*map(in_language, clauses)))
    text = f" {' '.join(words)}{'?' if 'first' in clauses[0].link.kinds else '.'}"
    for wrong, right in SPELLINGS.items():
        text = text.replace(wrong, right)
    return text[1].upper() + text[2:]


def main(arguments: list[str] | None = None) -> None:
    """Writes the six files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--train_pairs", type=int, default=20_000)
    parser.add_argument("--other_pairs", type=int, default=500, help="dev, and test")
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args(arguments)
    flags.output_dir.mkdir(parents=True, exist_ok=True)
    seed(flags.seed)
    seen = set()
    for split, copies in ("test", 1), ("dev", 1), ("train", 2):
        size = flags.train_pairs if split == "train" else flags.other_pairs
        source, target = [], []
        while len(source) < size:
            orders = choice([["second"], ["second"], ["first"], ["second", "last"]])
            tense = choice(["present", "past"])
            clauses = [draw_clause(order, tense) for order in orders]
            english = written(clauses, english_clause)
            if english not in seen:
                source += [english] * copies
                target += [written(clauses, german_clause) for _ in range(copies)]
            seen.add(english)
        for language, lines in ("en", source), ("de", target):
            text = "".join(f"{line}\n" for line in lines[:size])
            (flags.output_dir / f"{split}.{language}").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
