"""English word forms by rule."""

import re


def plural(noun: str) -> str:
    """Returns the regular plural.

    >>> [plural(noun) for noun in ("box", "story", "key", "dog")]
    ['boxes', 'stories', 'keys', 'dogs']
    """
    return _add_s(noun)


def third_person(verb: str) -> str:
    """Returns the third person singular of the present.

    >>> [third_person(verb) for verb in ("wash", "carry", "buy", "have")]
    ['washes', 'carries', 'buys', 'has']
    """
    return "has" if verb == "have" else _add_s(verb)


def past(verb: str) -> str:
    """Returns the regular past.

    >>> [past(verb) for verb in ("open", "close", "carry", "plan", "travel")]
    ['opened', 'closed', 'carried', 'planned', 'travelled']
    """
    if verb.endswith("e"):
        return verb + "d"
    return re.sub("(?<=[^aeiou])y$", "i", _doubled(verb)) + "ed"


def ing(verb: str) -> str:
    """Returns the present participle.

    >>> [ing(verb) for verb in ("run", "write", "see", "open")]
    ['running', 'writing', 'seeing', 'opening']
    """
    return re.sub("(?<=[^eoy])e$", "", _doubled(verb)) + "ing"


def comparative(adjective: str) -> str:
    """Returns the comparative, with -er or with more.

    >>> [comparative(a) for a in ("big", "heavy", "strange", "famous")]
    ['bigger', 'heavier', 'stranger', 'more famous']
    """
    stem = adjective.removesuffix("e")
    if adjective.endswith("y"):
        return adjective[:-1] + "ier"
    if len(re.findall("[aeiou]+", stem)) > 1:
        return f"more {adjective}"
    return _doubled(stem) + "er"


def article(word: str) -> str:
    """Returns the indefinite article that goes with the next word.

    >>> [article(word) for word in ("old", "house", "university", "8")]
    ['an', 'a', 'a', 'an']
    """
    vowel = re.match("[aeiou8]", word.lower()) and not re.match("uni|eu|one", word)
    return "an" if vowel else "a"


def _add_s(word: str) -> str:
    if re.search("(s|sh|ch|x|z|[^aeiou]o|^go)$", word):
        return word + "es"
    return re.sub("(?<=[^aeiou])y$", "ie", word) + "s"


def _doubled(word: str) -> str:
    """Doubles the last consonant of a short closed syllable, and l (travel)."""
    doubles = re.fullmatch("[^aeiou]*[aeiou][^aeiouwxy]|.*[^aeiou][aeiou]l", word)
    return word + word[-1] if doubles else word
