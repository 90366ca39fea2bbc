"""The embedded grammar's pairs: splits, seeds, ambiguity, clean text."""

import collections
import itertools
import os
import re
import subprocess
import sys

from absl.testing import parameterized

from cmlm_tf.data.grammar import SPLIT_SIZES, grammar_pairs, split_of
from cmlm_tf.errors import UserError

_PRINT_PAIRS = """
from cmlm_tf.data.grammar import grammar_pairs
print(*grammar_pairs("train", 40, 3), sep="\\n")
"""


def _sources(split, size, seed):
    return {source for source, _ in grammar_pairs(split, size, seed)}


def _translations(pairs):
    found = collections.defaultdict(set)
    for source, target in pairs:
        found[source].add(target)
    return found


class GrammarPairsTest(parameterized.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pairs = list(grammar_pairs("train", 6000))

    def test_same_seed_gives_the_same_pairs(self):
        self.assertEqual(self.pairs[:500], list(grammar_pairs("train", 500)))

    def test_another_seed_gives_other_pairs(self):
        other = set(grammar_pairs("train", 500, seed=2))
        self.assertLess(len(other & set(self.pairs)), 25)

    def test_pairs_do_not_depend_on_hash_randomisation(self):
        outputs = {
            subprocess.run(
                [sys.executable, "-c", _PRINT_PAIRS],
                env=os.environ | {"PYTHONHASHSEED": hash_seed},
                capture_output=True,
                check=True,
            ).stdout
            for hash_seed in ("1", "2")
        }
        self.assertLen(outputs, 1)

    @parameterized.parameters("train", "dev", "test")
    def test_sizes(self, split):
        self.assertLen(list(grammar_pairs(split, 37)), 37)
        if split != "train":
            self.assertLen(list(grammar_pairs(split)), SPLIT_SIZES[split])

    def test_splits_share_no_source_for_any_seeds_and_sizes(self):
        train = set(self._normalised(source for source, _ in self.pairs))
        train |= set(self._normalised(_sources("train", 1000, 2)))
        dev, test = set(), set()
        for size, seed in ((500, 1), (200, 2), (50, 3)):
            dev |= set(self._normalised(_sources("dev", size, seed)))
            test |= set(self._normalised(_sources("test", size, seed)))
        self.assertEmpty(train & dev)
        self.assertEmpty(train & test)
        self.assertEmpty(dev & test)

    def _normalised(self, sources):
        return (" ".join(re.findall(r"\w+", text.lower())) for text in sources)

    @parameterized.parameters("dev", "test")
    def test_held_out_sources_are_distinct(self, split):
        self.assertLen(_sources(split, 500, 1), 500)

    def test_split_ignores_case_and_punctuation(self):
        self.assertEqual(split_of("He is  here."), split_of("he IS here"))

    def test_pairs_are_nearly_all_distinct(self):
        self.assertGreater(len(set(self.pairs)), 0.99 * len(self.pairs))

    def test_sources_recur_with_different_translations(self):
        found = _translations(self.pairs)
        several = {source for source in found if len(found[source]) > 1}
        share = sum(source in several for source, _ in self.pairs) / len(self.pairs)
        self.assertBetween(share, 0.3, 0.6)
        self.assertBetween(len(several) / len(found), 0.15, 0.4)

    @parameterized.parameters(
        ("address", r"\b([Dd]u|[Dd]ein\w*)\b", r"\b(ihr|euch|eure?\w*)\b"),
        ("past", r" (hat|habe|haben|ist|bin|sind) ", r"\w+te\b"),
        ("synonym", r"\b(oft|Auto|anfangen|fängt)\b", r"\b(häufig|Wagen|beginn\w+)\b"),
        ("fronting", r"^(Am|Gestern|Morgen|Letzte) ", r"^(Er|Sie|Ich|Wir|Du|Mein) "),
        ("compound", r"schlüssel|bibliothek|tür", r" (der|des) \w+"),
    )
    def test_one_source_has_translations_of_both_kinds(self, name, first, second):
        both = 0
        for targets in _translations(self.pairs).values():
            ones = {target for target in targets if re.search(first, target)}
            others = {target for target in targets if re.search(second, target)}
            both += bool(ones - others) and bool(others - ones)
        self.assertGreater(both, 3, name)

    def test_lengths(self):
        lengths = [len(source.split()) for source, _ in self.pairs]
        self.assertGreaterEqual(min(lengths), 4)
        self.assertLessEqual(max(lengths), 25)
        self.assertGreater(max(lengths), 20)
        self.assertBetween(sum(lengths) / len(lengths), 9.5, 12.5)

    def test_text_is_clean(self):
        for text in itertools.chain.from_iterable(self.pairs):
            self.assertNotRegex(text, r"\s\s|^\s|\s$| [.,!?:“]|,,|\.\.|,[.!?]|_")
            self.assertRegex(text, r"""^["„]?[A-ZÄÖÜ0-9]""")

    def test_every_sentence_ends_in_punctuation(self):
        for source, target in self.pairs:
            self.assertRegex(source, r'[.?]"?$')
            self.assertRegex(target, "[.?!]“?$")

    def test_german_subordinate_clauses_follow_a_comma(self):
        for _, target in self.pairs:
            self.assertNotRegex(target, r"[^,„] (weil|obwohl|dass|bevor|falls|ob) ")

    def test_known_features_occur(self):
        text = "\n".join(target for _, target in self.pairs)
        for pattern in (
            r"„.+“",
            r"\d\.\d{3} ",
            r"\d,\d\d Euro",
            r"um halb \w+",
            r"am \d+\. [A-Z]",
            r"\bman\b",
            r", (der|die|das|dem|den|denen) ",
            r" worden",
            r"[a-z]zu[a-z]+en\.",
            r"während (des|der) ",
            r"\w+undzwanzig",
        ):
            self.assertRegex(text, pattern)

    def test_streams(self):
        pairs = grammar_pairs("train", 10**15)
        self.assertIs(iter(pairs), pairs)
        self.assertEqual(next(pairs), self.pairs[0])

    @parameterized.parameters(("valid", 5, "split"), ("train", 0, "size"))
    def test_wrong_arguments(self, split, size, word):
        with self.assertRaisesRegex(UserError, word):
            grammar_pairs(split, size)
