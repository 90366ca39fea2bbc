"""A bad request is INVALID_ARGUMENT and names the input and the row."""

import re

import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.serving.export import MAX_LENGTH_BEAM
from tests.serving.exported import MAX_LENGTH, call

GOOD = ["a house", "tree"]
LONG = " ".join(["tree"] * MAX_LENGTH)


class BadRequestsTest(tf.test.TestCase, parameterized.TestCase):
    def assert_refused(self, message, name, inputs, options=None):
        with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
            call(name, inputs, options)
        text = re.sub(r"\s+", " ", str(caught.exception))
        self.assertIn(message, text)
        return text

    @parameterized.parameters(
        ({"heuristic": "best"}, "heuristic: must be one of mask_predict, fixed_k, "),
        ({"heuristic": ["thresh", ""]}, "heuristic: must be one of"),
        ({"setting": -0.1}, "setting: tau must be from 0 to 1"),
        ({"setting": [0.5, 1.5]}, "setting: tau must be from 0 to 1 (rows)] [1]"),
        ({"setting": float("inf")}, "setting: tau must be from 0 to 1"),
        (
            {"heuristic": "fixed_k", "setting": 0.0},
            "setting: tokens_per_iteration must be a whole number of at least 1",
        ),
        ({"heuristic": "mask_predict", "setting": 2.5}, "setting: num_iterations must"),
        ({"heuristic": "mask_predict", "setting": 2e6}, "setting: num_iterations must"),
        ({"length_beam": 0}, f"length_beam: must be from 1 to {MAX_LENGTH_BEAM}"),
        ({"length_beam": [1, MAX_LENGTH_BEAM + 1]}, "length_beam: must be from 1 to"),
        ({"max_iterations": 0}, "max_iterations: must be from 1 to 1000000"),
        ({"setting": [0.1] * 3}, "setting: must hold one value or one for each row"),
    )
    def test_options(self, options, message):
        self.assert_refused(message, "serving_default", [GOOD], options)

    @parameterized.parameters("serving_default", "nbest", "trace")
    def test_texts(self, name):
        limit = MAX_LENGTH - 1
        empty = tf.zeros([0], tf.string)
        refusal = self.assert_refused("text: the batch is empty", name, [empty])
        self.assertNotIn("rows", refusal)
        texts = [[b"a house", b"\xff\xfe"]]
        self.assert_refused("text: not valid UTF-8 (rows)] [1]", name, texts)
        texts = [[LONG, "a house"]]
        message = f"text: more than {limit} subwords (rows)] [0]"
        self.assert_refused(message, name, texts)

    @parameterized.parameters(
        ([[5, 6], [7, 4]], "ids: must be from 5 to 327"),
        ([[5, 6], [7, 100000]], "ids: must be from 5 to 327"),
        ([[5, -1]], "ids: must be from 5 to 327"),
        ([[5, 0, 6]], "padding behind (rows)] [0]"),
        ([[9] * MAX_LENGTH], "ids: more than"),
        (tf.zeros([0, 3], tf.int32), "ids: the batch is empty"),
    )
    def test_ids(self, ids, message):
        self.assert_refused(message, "decode_ids", [ids])

    @parameterized.parameters(
        ("score", ["Haus", b"\xff"], "translation: not valid UTF-8"),
        ("score", ["Haus", LONG + " " + LONG], "translation: more than"),
        ("score", ["Haus"], "translation: must hold one string a text"),
        ("complete", ["<mask>", b"\xff <mask>"], "partial: not valid UTF-8"),
        ("complete", ["<mask>", LONG + "<mask>"], "partial: more than"),
        ("complete", ["<mask>" * (MAX_LENGTH + 1), ""], "partial: more than"),
        ("complete", ["<mask>", "\U0010fffd"], "partial: U+10FFFD"),
        ("complete", ["<mask>"], "partial: must hold one string a text"),
    )
    def test_targets(self, name, targets, message):
        self.assert_refused(message, name, [GOOD, targets])

    def test_a_blank_text_has_no_target_to_complete(self):
        message = "text: blank, but partial is not (rows)] [1]"
        self.assert_refused(message, "complete", [["tree", " "], ["<mask>", "<mask>"]])


if __name__ == "__main__":
    tf.test.main()
