"""Splitting long lines: nothing lost, every part short enough."""

import random

from absl.testing import absltest

from cmlm_tf.data.long_lines import split_line


def count_characters(texts):
    """Every character that is not white space is a subword."""
    return [len("".join(text.split())) for text in texts]


class SplitLineTest(absltest.TestCase):
    def test_random_lines_keep_their_words(self):
        rng = random.Random(3)
        for _ in range(500):
            words = [
                "x" * rng.randint(1, 30) + rng.choice(["", "", ".", "!", ","])
                for _ in range(rng.randint(1, 30))
            ]
            line = " ".join(words)
            limit = rng.randint(1, 40)
            parts = split_line(line, limit, count_characters)
            self.assertEqual("".join("".join(parts).split()), "".join(words))
            self.assertLessEqual(max(count_characters(parts)), limit)
            if limit > 31:
                self.assertEqual(" ".join(parts), line)

    def test_sentences_are_kept_whole_where_they_fit(self):
        parts = split_line("aaa bbb. ccc ddd. eee.", 9, count_characters)
        self.assertEqual(parts, ["aaa bbb.", "ccc ddd.", "eee."])

    def test_chinese_sentences_have_no_blank_between(self):
        sentence = "今天天气很好。我们走吧！"
        parts = split_line(sentence * 3, 21, count_characters)
        self.assertEqual(parts, [sentence + "今天天气很好。", "我们走吧！" + sentence])

    def test_a_short_line_is_not_touched(self):
        self.assertEqual(split_line("  a  b ", 2, count_characters), ["  a  b "])


if __name__ == "__main__":
    absltest.main()
