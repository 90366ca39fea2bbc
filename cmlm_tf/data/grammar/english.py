"""Puts a tree into English."""

import re

from cmlm_tf.data.grammar import english_forms
from cmlm_tf.data.grammar.numerals import english_digits, english_number
from cmlm_tf.data.grammar.syntax import (
    Anaphor,
    Body,
    Clause,
    Command,
    Coordinate,
    Gap,
    NamePhrase,
    NounPhrase,
    Pair,
    Phrase,
    Predicate,
    PrepositionalPhrase,
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
from cmlm_tf.data.grammar.verbs import WITH_TO
from cmlm_tf.data.grammar.words import Adverbial, Verb

_OBJECTS = {
    "I": "me",
    "he": "him",
    "she": "her",
    "we": "us",
    "they": "them",
}


def english(sentence: Sentence) -> str:
    """Returns the one English wording of a sentence."""
    match sentence:
        case Statement(body):
            return _sentence(_body(body), ".")
        case Question(body, word):
            return _sentence(f"{word} {_question(body)}", "?")
        case Command(clause, please_first):
            text = _predicate(clause, "", clause.verb.base)
            text = f"please {text}" if please_first else f"{text}, please"
            return _sentence(text, ".")
        case Quotation(speaker, speech, speech_first):
            return _quotation(_body(speaker), english(speech), speech_first)
    raise TypeError(sentence)


def _quotation(speaker: str, speech: str, speech_first: bool) -> str:
    if not speech_first:
        return _sentence(f'{speaker}, "{speech}"', "")
    if speech.endswith("."):
        speech = speech[:-1] + ","
    return _sentence(f'"{speech}" {speaker}', ".")


def _sentence(text: str, mark: str) -> str:
    text = re.sub(r"\s+(?=[\s,])", "", text).strip()
    return text[0].upper() + text[1:] + mark


def _body(body: Body) -> str:
    match body:
        case Clause():
            return _clause(body)
        case Subordinate(main, conjunction, dependent, fronted):
            word = conjunction.split()[0]
            if fronted:
                return f"{word} {_body(dependent)}, {_body(main)}"
            return f"{_body(main)} {word} {_body(dependent)}"
        case Coordinate(first, conjunction, second):
            comma = "," if conjunction == "but" else ""
            return f"{_body(first)}{comma} {conjunction} {_body(second)}"
        case Shared(first, second):
            return f"{_body(first)} and {_continued(first, second)}"
        case Report(main, link, content):
            return f"{_body(main)} {link} {_body(content)}"
        case Purpose(main, aim):
            return f"{_body(main)} to {_predicate(aim, '', aim.verb.base)}"
    raise TypeError(body)


def _clause(clause: Clause) -> str:
    auxiliary, rest = _verb_group(clause)
    text = f"{_noun(clause.subject)} {_predicate(clause, auxiliary, rest)}"
    if clause.time_first and clause.time:
        text = f"{_adverbial(clause.time)}, {text}"
    if clause.adverb and clause.adverb.kind == "attitude":
        text = f"{clause.adverb.english} {text}"
    return text


def _without_subject(clause: Clause) -> str:
    return _predicate(clause, *_verb_group(clause))


def _continued(first: Clause, second: Clause) -> str:
    """Returns the second clause without its subject and a repeated auxiliary."""
    auxiliary, rest = _verb_group(second)
    repeated = auxiliary == _verb_group(first)[0]
    return _predicate(second, "" if repeated else auxiliary, rest)


def _question(body: Clause | Report) -> str:
    if isinstance(body, Report):
        return f"{_question(body.main)} {body.link} {_body(body.content)}"
    if body.subject == Pronoun("who"):
        return f"who {_without_subject(body)}"
    auxiliary, rest = _verb_group(body, inverted=True)
    negation = "not" if body.negated else ""
    rest = _predicate(body, "", f"{negation} {rest}")
    return f"{auxiliary} {_noun(body.subject)} {rest}"


def _verb_group(clause: Clause, inverted: bool = False) -> tuple[str, str]:
    """Returns the auxiliary ("" if there is none) and the rest of the verbs."""
    kind = _agreement(clause)
    helped = clause.negated or inverted
    past = clause.tense == "past"
    if clause.modal:
        modal, base = clause.modal, clause.verb.base
        if modal.auxiliary:
            word = modal.past if past else modal.auxiliary
            return word, f"{modal.rest} {base}"
        if helped:
            return _do(kind, past), f"{modal.rest} {base}"
        first, rest = modal.rest.split(" ", 1)
        finite = english_forms.third_person(first) if kind == "3s" else first
        return "", f"{modal.past if past else f'{finite} {rest}'} {base}"
    if clause.passive:
        if clause.tense == "future":
            return "will", f"be {clause.verb.participle}"
        return _be(kind, past), clause.verb.participle
    return _plain_verb_group(clause.verb, clause.tense, kind, helped)


def _plain_verb_group(
    verb: Verb, tense: str, kind: str, helped: bool
) -> tuple[str, str]:
    if tense == "future":
        return "will", verb.base
    if tense == "perfect":
        return "has" if kind == "3s" else "have", verb.participle
    if verb.base == "be":
        return _be(kind, tense == "past"), ""
    if tense == "progressive":
        return _be(kind, False), verb.ing
    if helped:
        return _do(kind, tense == "past"), verb.base
    if tense == "past":
        return "", verb.past
    return "", verb.third if kind == "3s" else verb.base


def _be(kind: str, past: bool) -> str:
    forms = {"I": ("am", "was"), "3s": ("is", "was"), "pl": ("are", "were")}
    return forms[kind][past]


def _do(kind: str, past: bool) -> str:
    return "did" if past else "does" if kind == "3s" else "do"


def _agreement(clause: Clause) -> str:
    """Returns "I", "3s" or "pl" (all others)."""
    subject: Phrase | None = clause.subject
    if subject == Pronoun("there"):
        subject = clause.object
    match subject:
        case Pronoun("I"):
            return "I"
        case Pronoun(person):
            return "3s" if person in ("he", "she", "it", "who") else "pl"
        case Pair():
            return "pl"
        case NounPhrase(plural=True) | Anaphor(NounPhrase(plural=True)):
            return "pl"
    return "3s"


def _predicate(clause: Clause, auxiliary: str, rest: str) -> str:
    """Returns everything after the subject."""
    adverb = clause.adverb
    inner = adverb.english if adverb and adverb.kind == "frequency" else ""
    if clause.negated and auxiliary:
        auxiliary = f"{auxiliary} not".replace("can not", "cannot")
    parts = [auxiliary, inner, rest, _objects(clause)]
    if clause.predicate:
        parts.append(_adjective(clause.predicate))
    if clause.goal:
        parts.append(f"to {_noun(clause.goal, 'object')}")
    parts += [_adverbial(part) for part in (clause.companion, clause.manner) if part]
    parts.append(_place(clause.place))
    if clause.time and not clause.time_first:
        parts.append(_adverbial(clause.time))
    return " ".join(parts)


def _objects(clause: Clause) -> str:
    verb = clause.verb
    thing = _noun(clause.object, "object") if clause.object else ""
    if verb.particle and isinstance(clause.object, Pronoun):
        return f"{thing} {verb.particle}"
    head = f"{verb.particle} {verb.preposition}"
    if clause.recipient is None:
        return f"{head} {thing}"
    recipient = _noun(clause.recipient, "object")
    if verb not in WITH_TO:
        return f"{head} {recipient} {thing}"
    return f"{head} {thing} to {recipient}"


def _adjective(predicate: Predicate) -> str:
    if predicate.than:
        word = predicate.adjective.english_comparative
        return f"{word} than {_noun(predicate.than)}"
    return f"{predicate.degree} {predicate.adjective.english}"


def _adverbial(part: Adverbial | PrepositionalPhrase) -> str:
    if isinstance(part, Adverbial):
        return part.english
    return f"{part.preposition.english} {_noun(part.phrase, 'object')}"


def _place(place: Phrase | PrepositionalPhrase | None) -> str:
    match place:
        case None:
            return ""
        case PrepositionalPhrase():
            return _adverbial(place)
        case NounPhrase(noun=noun):
            return f"{noun.at[0]} {_noun(place)}"
    return f"in {_noun(place)}"


def _noun(phrase: Phrase, role: str = "subject") -> str:
    match phrase:
        case Pronoun(person):
            return _OBJECTS.get(person, person) if role == "object" else person
        case Anaphor(NounPhrase(plural=plural)):
            return "they" if plural else "it"
        case NamePhrase(name):
            return f"{name.title} {name.english}"
        case Pair(first, second):
            return f"{_noun(first, role)} and {_noun(second, role)}"
        case NounPhrase():
            return _noun_phrase(phrase)
    return ""


def _noun_phrase(phrase: NounPhrase) -> str:
    noun = phrase.noun
    words = [each.english for each in phrase.adjectives]
    words.append(noun.english_plural if phrase.plural else noun.english)
    text = f"{_determiner(phrase, words[0])} {' '.join(words)}"
    if not phrase.relative:
        return text
    pronoun = "who" if "person" in noun.kinds else "that"
    if isinstance(phrase.relative.subject, Gap):
        verbs = _verb_group(_agreeing(phrase.relative, phrase))
        return f"{text} {pronoun} {_predicate(phrase.relative, *verbs)}"
    return f"{text} that {_clause(phrase.relative)}"


def _agreeing(relative: Clause, phrase: NounPhrase) -> Clause:
    """Gives a relative clause its noun as subject, for the verb's number."""
    return Clause(
        Pronoun("they" if phrase.plural else "it"),
        relative.verb,
        relative.tense,
        passive=relative.passive,
    )


def _determiner(phrase: NounPhrase, next_word: str) -> str:
    if phrase.owner:
        plural = isinstance(phrase.owner, NounPhrase) and phrase.owner.plural
        owner = _noun(phrase.owner)
        return f"{owner}'" if plural and owner.endswith("s") else f"{owner}'s"
    if phrase.numeral:
        write = english_digits if phrase.numeral.digits else english_number
        return write(phrase.numeral.value)
    if phrase.determiner == "a":
        return english_forms.article(next_word)
    if phrase.determiner == "this" and phrase.plural:
        return "these"
    return phrase.determiner
