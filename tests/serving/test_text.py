"""White space and line ends inside the graph."""

import sys

import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.serving.completion import read_gaps
from cmlm_tf.serving.text import ServedSubwords
from tests import tiny_models

MODEL = SubwordModel(tiny_models.subword_file())
SPACES = [char for char in map(chr, range(sys.maxunicode)) if char.isspace()]
LINE_ENDS = [c for c in map(chr, range(0x3000)) if len(f"a{c}b".splitlines()) > 1]


class TextTest(tf.test.TestCase, parameterized.TestCase):
    def test_white_space_and_nul_part_words_and_make_none(self):
        served = ServedSubwords(MODEL)
        (expected,) = MODEL.encode(["Hund Haus"])
        texts = [f"Hund{char}Haus" for char in [*SPACES, "\0"]]
        found = served.encode(tf.constant([*texts, *SPACES, "\0"]), "text", 40)
        for row in range(len(texts)):
            ids = found.ids[row, : found.lengths[row]]
            self.assertAllEqual(ids, expected, texts[row])
        self.assertFalse(found.lengths.numpy()[len(texts) :].any())
        self.assertEqual(MODEL.encode(texts), [expected] * len(texts))
        gaps = read_gaps(served, tf.constant(texts), "partial", 40)
        self.assertEqual(gaps.given.to_list(), [expected] * len(texts))

    def test_bytes_write_no_line_end(self):
        served = ServedSubwords(MODEL)
        pieces = MODEL.pieces(range(MODEL.vocab_size))
        self.assertLen(LINE_ENDS, 10)
        for char in LINE_ENDS:
            ids = [[pieces.index(f"<0x{byte:02X}>") for byte in char.encode()]]
            text = served.decode(tf.constant(ids), tf.constant([len(ids[0])]))
            self.assertEqual(text.numpy().tolist(), [b" "])
            self.assertEqual(MODEL.decode(ids), [" "])


if __name__ == "__main__":
    tf.test.main()
