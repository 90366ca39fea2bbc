"""An embedded English-German grammar that writes parallel sentences from a seed.

A tree of dictionary entries is drawn (`plan_*`), put into English in its one
way (`english`) and into German in one of many (`german*`): du, Sie or ihr for
`you`, synonyms, tenses and word order are drawn anew for every translation.
"""

import hashlib
import itertools
import random
import re
from collections.abc import Iterator

from cmlm_tf.data.grammar.english import english
from cmlm_tf.data.grammar.german import german
from cmlm_tf.data.grammar.plan_sentences import SentencePlanner
from cmlm_tf.data.grammar.syntax import Sentence
from cmlm_tf.errors import UserError

#: Pairs in each split by default.
SPLIT_SIZES = {"train": 20000, "dev": 500, "test": 500}

#: Shares of all possible English sentences, in percent; they fix the split.
_SHARES = {"dev": range(0, 5), "test": range(5, 10), "train": range(10, 100)}
#: How many translations of a training sentence are drawn, with their weights.
_COPIES = {1: 70, 2: 20, 3: 10}
_MIN_WORDS, _MAX_WORDS = 4, 25


def grammar_pairs(
    split: str, size: int | None = None, seed: int = 1
) -> Iterator[tuple[str, str]]:
    """Yields English-German sentence pairs.

    No English sentence occurs in two splits, whatever the sizes and seeds. In
    the training split a sentence may occur several times, with different
    German translations; in the others each occurs once.

    Args:
        split: "train", "dev" or "test".
        size: number of pairs, `SPLIT_SIZES[split]` if None. A smaller size
            gives the first pairs of a larger one.
        seed: another seed gives other sentences.

    Yields:
        (English, German).

    Raises:
        UserError: an unknown split or a size below 1.

    >>> len(list(grammar_pairs("dev", size=3)))
    3
    """
    size = SPLIT_SIZES.get(split, 0) if size is None else size
    if split not in _SHARES:
        raise UserError(f"unknown grammar split {split!r}: use train, dev or test")
    if size < 1:
        raise UserError(f"grammar size must be at least 1, not {size}")
    return itertools.islice(_endless_pairs(split, seed), size)


def split_of(source: str) -> str:
    """Returns the split that an English sentence belongs to.

    Case, punctuation and spacing do not matter.

    >>> split_of("He is here.") == split_of("he is  here")
    True
    """
    words = " ".join(re.findall(r"\w+", source.lower()))
    share = int.from_bytes(hashlib.sha256(words.encode()).digest()[:8]) % 100
    return next(split for split, shares in _SHARES.items() if share in shares)


def _endless_pairs(split: str, seed: int) -> Iterator[tuple[str, str]]:
    # a string seed does not depend on Python's hash randomisation
    rng = random.Random(f"{split} {seed}")
    planner = SentencePlanner(rng)
    seen: set[str] = set()
    while True:
        sentence = planner.sentence()
        source = english(sentence)
        if not _is_usable(source) or split_of(source) != split or source in seen:
            continue
        if split == "train":
            yield from _translations(source, sentence, rng)
        else:
            seen.add(source)
            yield source, german(sentence, rng)


def _is_usable(source: str) -> bool:
    return _MIN_WORDS <= len(source.split()) <= _MAX_WORDS


def _translations(
    source: str, sentence: Sentence, rng: random.Random
) -> Iterator[tuple[str, str]]:
    copies = rng.choices(list(_COPIES), list(_COPIES.values()))[0]
    drawn = (german(sentence, rng) for _ in range(copies))
    for target in dict.fromkeys(drawn):
        yield source, target
