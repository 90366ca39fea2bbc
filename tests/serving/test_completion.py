"""Gaps in a given target are filled, and what is given stays as it is."""

import itertools
import re

import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.serving.completion import read_gaps
from cmlm_tf.serving.text import ServedSubwords
from tests import tiny_models
from tests.serving.exported import call

MASK = 4
PARTIALS = [
    "der <mask> Hund",
    "<mask>",
    "das Haus, <mask>!",
    "<mask> und <mask> oder <mask>",
    "der½ Hund  <mask>\t(Haus)",
    "Hund<mask>haus",
    "<mask><mask>",
    "",
    "der Hund",
    " ",
]


def gaps_of(partials):
    subwords = ServedSubwords(SubwordModel(tiny_models.subword_file()))
    return read_gaps(subwords, tf.constant(partials), "partial", 40)


def shared_out(missing, num_gaps):
    """Deals out subwords to the gaps one after the other, from the left."""
    widths = [0] * num_gaps
    for _, gap in zip(range(missing), itertools.cycle(range(num_gaps)), strict=False):
        widths[gap] += 1
    return widths


def filled(partial, words):
    """Fills each gap with a word of one subword, as a model would."""
    subwords = ServedSubwords(SubwordModel(tiny_models.subword_file()))
    pieces = iter([_word(subwords, word) for word in words])
    gaps = gaps_of([partial])
    lengths = gaps.num_given + len(words)
    ids = gaps.initial_ids(lengths[:, tf.newaxis]).numpy()[:, 0]
    ids = [[next(pieces) if i == MASK else i for i in ids[0].tolist()]]
    return gaps.join(subwords, tf.constant(ids), lengths)[0].numpy().decode()


def _word(subwords, word):
    (piece,) = subwords.tokenizer.tokenize(word).numpy().tolist()
    return piece


class CompletionTest(tf.test.TestCase, parameterized.TestCase):
    def test_given_text_stays_letter_for_letter(self):
        texts = ["the small cat sees one dog"] * len(PARTIALS)
        for beam in (1, 4):
            outputs = call("complete", [texts, PARTIALS], {"length_beam": beam})
            for partial, found in zip(PARTIALS, outputs["translation"], strict=True):
                pattern = re.escape(partial).replace("<mask>", "(.*)")
                self.assertRegex(found, f"(?s)^{pattern}$")

    @parameterized.parameters(
        ("das<mask>", ["Haus"], "das Haus"),
        ("das <mask>", ["Haus"], "das Haus"),
        ("das\u00a0<mask>!", ["Haus"], "das\u00a0Haus!"),
        ("das<mask>Haus", ["rote"], "das roteHaus"),
        ("<mask>,<mask>", ["Hund", "Katze"], "Hund, Katze"),
        ("<mask><mask>", ["rote", "Katze"], "rote Katze"),
        (" <mask>", ["Hund"], " Hund"),
    )
    def test_a_word_in_a_gap_has_a_space_in_front(self, partial, words, expected):
        self.assertEqual(filled(partial, words), expected)

    def test_nothing_to_fill_in(self):
        texts = ["tree", "", "a house"]
        outputs = call("complete", [texts, ["der Hund", "", ""]])
        self.assertEqual(outputs["translation"], ["der Hund", "", ""])
        self.assertEqual(outputs["score"], [0.0, 0.0, 0.0])
        self.assertEqual(outputs["iterations"], [0, 0, 0])

    def test_one_gap_alone_is_the_translation(self):
        texts = ["the small cat sees one dog", "tree"]
        free = call("serving_default", [texts])
        filled = call("complete", [texts, ["<mask>", "<mask>"]])
        self.assertEqual(filled, free)

    def test_the_gaps_are_where_the_masks_are(self):
        subwords = SubwordModel(tiny_models.subword_file())
        partials = ["der <mask> Hund", "das Haus<mask>", "<mask> und <mask>"]
        segments = [["der", " Hund"], ["das Haus", ""], ["", " und", ""]]
        gaps = gaps_of(partials)
        for missing in (2, 3, 5):
            encoded = [subwords.encode(row) for row in segments]
            lengths = [sum(map(len, row)) + missing for row in encoded]
            ids = gaps.initial_ids(tf.constant(lengths)[:, tf.newaxis]).numpy()[:, 0]
            for row, pieces in enumerate(encoded):
                widths = [0, *shared_out(missing, len(pieces) - 1)]
                expected = []
                for width, piece in zip(widths, pieces, strict=True):
                    expected += [MASK] * width + piece
                self.assertEqual(ids[row, : len(expected)].tolist(), expected)
                self.assertFalse(ids[row, len(expected) :].any())

    @parameterized.parameters(
        ("der <mask> Hund", [0]),
        ("<mask> <mask>", [1]),
        ("<mask><mask> <mask>", [2]),
        ("der<mask>", []),
        (" <mask>\u00a0<mask>", [0, 1]),
        ("<mask> Haus", []),
        ("<mask>s\u3000<mask> <mask>", [1, 2]),
    )
    def test_a_gap_behind_a_blank_begins_with_a_word(self, partial, gaps):
        other = "der Hund <mask> und <mask>"
        found = gaps_of([other, partial])
        least = int(found.num_given[1] + found.num_gaps[1])
        for missing in (0, 1, 4):
            lengths = tf.constant([[0], [least + missing]])
            ids = found.initial_ids(lengths).numpy()[1, 0]
            widths = shared_out(
                missing + partial.count("<mask>"), partial.count("<mask>")
            )
            masks = [i for i, n in enumerate(ids) if n == MASK]
            begins = [masks[sum(widths[:gap])] for gap in gaps]
            places = found.begins_word(lengths).numpy()
            self.assertEqual(
                [i for i, is_in in enumerate(places[1, 0]) if is_in], begins
            )
            self.assertFalse(places[0].any())

    def test_the_subwords_that_begin_no_word(self):
        subwords = SubwordModel(tiny_models.subword_file())
        ids = subwords.continuing_ids()
        starts = sorted(set(range(subwords.vocab_size)) - set(ids))
        self.assertTrue(all(p[0] == "\u2581" for p in subwords.pieces(starts)))
        self.assertFalse(any("\u2581" in p[:1] for p in subwords.pieces(ids)))

    def test_a_segment_is_split_as_inside_a_text(self):
        subwords = SubwordModel(tiny_models.subword_file())
        whole = subwords.encode(["Hund, Haus"])[0]
        start = subwords.encode(["Hund"])[0]
        self.assertEqual(whole[: len(start)], start)
        given = gaps_of(["<mask>, Haus"]).given.to_list()
        self.assertEqual(given, [whole[len(start) :]])

    def test_only_lengths_that_fit_are_possible(self):
        gaps = gaps_of(["der <mask> und <mask>", "der Hund", ""])
        counts = [
            len(ids)
            for ids in SubwordModel(tiny_models.subword_file()).encode(
                ["der und", "der Hund", ""]
            )
        ]
        possible = tf.math.is_finite(gaps.possible(tf.zeros([3, 12]))).numpy()
        lengths = [[n + 1 for n in range(12) if row[n]] for row in possible]
        self.assertEqual(lengths[0], list(range(counts[0] + 2, 13)))
        self.assertEqual(lengths[1], [counts[1]])
        self.assertEqual(lengths[2], [])


if __name__ == "__main__":
    tf.test.main()
