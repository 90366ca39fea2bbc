"""Text in, text out: one translation for each line, whatever the line."""

import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import load_model
from cmlm_tf.pretrained import EN_DE_TEACHER
from cmlm_tf.translate.loading import find_model, load_translator, make_translator
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from tests import tiny_models
from tests.tiny_models import model_dir

LINES = [
    "the small cat sees one dog",
    "",
    "a house",
    "   \t ",
    "\u0085",
    "two dogs and three cats like the old red boat under the tree",
    "tree",
]
FAST = UnmaskingOptions("fixed_k", 3)


class TranslatorTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(role=["teacher", "student"])
    def test_one_translation_for_each_line(self, role):
        translator = tiny_models.translator(role, sentences_per_batch=2)
        translations = translator.translate(LINES)
        self.assertLen(translations, len(LINES))
        for line, translation in zip(LINES, translations, strict=True):
            if line.strip():
                self.assertGreater(translation.num_tokens, 0)
                self.assertLess(translation.score, 0)
                self.assertGreater(translation.iterations, 0)
            else:
                self.assertEqual(translation.text, "")
                self.assertEqual(translation.num_tokens, 0)

    @parameterized.product(role=["teacher", "student"], xla=[False, True])
    def test_translators_of_one_model_do_not_share_what_is_frozen(self, role, xla):
        loaded = load_model(model_dir(role))
        before = make_translator(loaded, xla=False)
        expected = before.translate(LINES[:1])
        table = loaded.model.embedding.table
        table.assign(-table.numpy())
        after = make_translator(loaded, xla=xla).translate(LINES[:1])
        unfrozen = make_translator(loaded, xla=False, frozen=False)
        other = unfrozen.translate(LINES[:1])
        self.assertAllClose(after[0].score, other[0].score, atol=1e-3)
        table.assign(-table.numpy())
        again = before.translate(LINES[:1])
        self.assertEqual(again, expected)
        self.assertNotAllClose(after[0].score, expected[0].score)

    @parameterized.parameters(("teacher", 8), ("student", 8), ("student", 16))
    def test_static_shapes_under_xla_give_the_same(self, role, batch_size):
        lines = LINES * 4 if batch_size > 8 else LINES
        dynamic = tiny_models.translator(role).translate(lines)
        compiled = load_translator(
            model_dir(role), sentences_per_batch=batch_size, xla=True
        ).translate(lines)
        for a, b in zip(dynamic, compiled, strict=True):
            self.assertEqual(a.text, b.text)
            self.assertEqual(a.iterations, b.iterations)
            self.assertAllClose(a.score, b.score, atol=1e-3)

    @parameterized.product(role=["teacher", "student"])
    def test_deterministic_is_bit_equal(self, role):
        translator = load_translator(
            model_dir(role), sentences_per_batch=8, deterministic=True
        )
        together = translator.translate(LINES)
        self.assertEqual(together[::-1], translator.translate(LINES[::-1]))
        alone = [translator.translate([line])[0] for line in LINES]
        self.assertEqual(together, alone)
        default = tiny_models.translator(role).translate(LINES)
        self.assertEqual([t.text for t in default], [t.text for t in together])

    def test_targets_longer_than_is_likely(self):
        """Of so short a source, targets above 16 subwords are not."""
        dynamic, compiled = (
            load_translator(model_dir("student"), sentences_per_batch=8, xla=xla)
            for xla in (False, True)
        )
        options = UnmaskingOptions(length_beam=24)  # all lengths
        a, b = (t.translate(["tree"], options)[0] for t in (dynamic, compiled))
        self.assertEqual(a.text, b.text)
        lengths = [len(candidate.tokens) for candidate in b.candidates[0]]
        self.assertEqual(sorted(lengths), list(range(1, 25)))

    @parameterized.parameters(
        # One pass: errors stay small.
        ("student", UnmaskingOptions("mask_predict", 1), 0.05),
        ("teacher", None, None),
    )
    def test_bfloat16(self, role, options, tolerance):
        """A number has 8 significant bits; scores are means of -0.1 to -3."""
        exact = tiny_models.translator(role).translate(LINES, options)
        rough = load_translator(model_dir(role), "bfloat16").translate(LINES, options)
        for line, a, b in zip(LINES, exact, rough, strict=True):
            self.assertEqual(b.num_tokens > 0, bool(line.strip()))
            if tolerance:
                self.assertAllClose(a.score, b.score, atol=tolerance)

    @parameterized.product(role=["teacher", "student"])
    def test_a_long_line_is_split_and_joined(self, role):
        translator = tiny_models.translator(role)
        line = " ".join(LINES[:1] * 12)
        with self.assertLogs(level="WARNING") as logs:
            (translation,) = translator.translate([line])
        self.assertIn("1 of 1 lines", logs.output[0])
        self.assertGreater(len(translation.candidates), 1)
        best = [part[0] for part in translation.candidates]
        self.assertEqual(translation.text, " ".join(c.text for c in best))
        self.assertEqual(translation.num_tokens, sum(len(c.tokens) for c in best))

    def test_candidates_are_distinct_lengths_best_first(self):
        translator = tiny_models.translator("student")
        options = UnmaskingOptions(length_beam=4)
        for translation in translator.translate(LINES, options):
            for part in translation.candidates:
                self.assertLen({len(c.tokens) for c in part}, 4)
                scores = [c.score for c in part]
                self.assertEqual(scores, sorted(scores, reverse=True))
                self.assertEqual(translation.text, part[0].text)
                counts = [c.iterations for c in part]
                self.assertEqual(translation.iterations, max(counts))
                self.assertEqual(translation.selected_iterations, counts[0])
                self.assertEqual(translation.summed_iterations, sum(counts))

    def test_oracle_lengths_are_those_of_the_references(self):
        translator = tiny_models.translator("student")
        references = ["Katze und Hund", "Haus", "dog " * 200, ""]
        lengths = [len(ids) for ids in translator.subwords.encode(references)]
        self.assertGreater(lengths[2], 24)  # The model's longest.
        options = UnmaskingOptions(oracle_spread=1)
        translations = translator.translate(["cat"] * 4, options, references)
        for translation, length in zip(translations, lengths, strict=True):
            nearest = min(max(length, 1), 24)
            found = [len(c.tokens) for c in translation.candidates[0]]
            expected = {nearest - 1, nearest, nearest + 1} - {0, 25}
            self.assertCountEqual(found, expected)

    def test_a_trace_holds_every_pass(self):
        translator = tiny_models.translator("student")
        options = UnmaskingOptions("fixed_k", 2, trace=True)
        (translation,) = translator.translate(LINES[:1], options)
        for candidate in translation.candidates[0]:
            self.assertLen(candidate.passes, candidate.iterations)
            masked = [sum(step["mask"]) for step in candidate.passes]
            length = len(candidate.tokens)
            expected = [max(length - 2 * (t + 1), 0) for t in range(len(masked))]
            self.assertEqual(masked, expected)
            self.assertEqual(candidate.passes[-1]["token_ids"], list(candidate.tokens))

    def test_a_sweep_traces_once(self):
        translator = load_translator(model_dir("student"))
        for tau in (0.0, 0.1, 0.5, 1.0):
            translator.translate(LINES, UnmaskingOptions("comb_thresh", tau))
        self.assertEqual(translator._graphs.num_traces(), [1])

    @parameterized.parameters(
        ({"heuristic": "best"}, "heuristic must be one of"),
        ({"setting": 1.5}, "tau must be from 0 to 1"),
        ({"heuristic": "fixed_k", "setting": 0}, "at least 1"),
        ({"heuristic": "fixed_k", "setting": 2**31}, "at most 1000000"),
        ({"max_iterations": 2**32}, "at most 1000000"),
        ({"heuristic": "mask_predict", "setting": 2.5}, "whole number"),
        ({"strategy": "update_none"}, "strategy must be one of"),
        ({"length_beam": 0}, "length_beam must be at least 1"),
        ({"max_iterations": 0}, "max_iterations must be at least 1"),
        (
            {"drop_losing_candidates": True, "strategy": "update_all"},
            "needs update_masked_sub",
        ),
        ({"beam_size": 0}, "beam_size must be from 1 to 1000"),
        ({"beam_size": 1_000_000_000}, "beam_size must be from 1 to 1000"),
        ({"length_penalty": float("nan")}, "length_penalty"),
    )
    def test_bad_options_are_named(self, fields, message):
        is_beam = fields.keys() & {"beam_size", "length_penalty"}
        with self.assertRaisesRegex(UserError, message):
            (BeamOptions if is_beam else UnmaskingOptions)(**fields)

    @parameterized.parameters(
        ({"lines": "a house"}, "lines must be a list of strings.*, not one string"),
        ({"lines": b"a house"}, "lines must be .*, not bytes"),
        ({"lines": {"a": 1}}, "lines must be .*, not dict"),
        ({"lines": 7}, "lines must be .*, not int"),
        ({"lines": None}, "lines must be .*, not None"),
        ({"lines": ["a", b"b"]}, r"lines\[1\] must be a string, not bytes"),
        ({"lines": [None]}, r"lines\[0\] must be a string, not None"),
        ({"references": ["a", 2.5]}, r"references\[1\] must be a string, not float"),
        ({"references": ["a"]}, "1 references for 2 source lines"),
        ({"options": BeamOptions()}, "takes UnmaskingOptions, not BeamOptions"),
        ({"options": "thresh"}, "takes UnmaskingOptions, not one string"),
        ({"options": {"setting": 1}}, "takes UnmaskingOptions, not dict"),
        ({"options": [FAST]}, "1 options for 2 lines"),
        ({"options": [FAST, None]}, r"options\[1\]: .* not None"),
        ({"beam_size": 5}, "UnmaskingOptions has no 'beam_size'; there is heuristic,"),
        ({"heuristic": "best"}, "heuristic must be one of"),
        ({"length_beam": 25}, "length_beam must be at most 24"),
    )
    def test_what_translate_does_not_take(self, arguments, message):
        translator = tiny_models.translator("student")
        with self.assertRaisesRegex(UserError, message):
            translator.translate(**{"lines": ["a", "b"], **arguments})

    def test_options_by_name_and_for_each_line(self):
        translator = tiny_models.translator("student", sentences_per_batch=2)
        slow = UnmaskingOptions("mask_predict", 8, length_beam=2)
        one = translator.translate(LINES, FAST)
        self.assertEqual(
            one, translator.translate(LINES, heuristic="fixed_k", setting=3)
        )
        self.assertEqual(one, translator.translate(LINES, slow, **vars(FAST)))
        two = translator.translate(LINES, slow)
        by_turns = (slow if i % 2 else FAST for i in range(len(LINES)))
        mixed = translator.translate((line for line in LINES), by_turns)
        for i, translation in enumerate(mixed):
            expected = (two if i % 2 else one)[i]
            self.assertEqual(translation.text, expected.text)
            self.assertEqual(translation.iterations, expected.iterations)

    def test_progress(self):
        translator = tiny_models.translator("student", sentences_per_batch=2)
        lines, told = [*LINES, " ".join(LINES[:1] * 12)], []
        told_to = lambda *numbers: told.append(numbers)  # noqa: E731
        translator.translate(lines, FAST, progress=told_to, warn=False)
        self.assertEqual((told[0], told[-1]), ((3, 8), (8, 8)))
        self.assertEqual(told, sorted(told))
        self.assertGreater(len(told), 3)
        translator.translate([], progress=told_to)
        self.assertEqual(told[-1], (0, 0))

    def test_shipped_models_go_by_name(self):
        self.assertEqual(find_model("en_de/teacher"), EN_DE_TEACHER)
        self.assertEqual(find_model(model_dir("student")), model_dir("student"))
        names = "en_de/student, en_de/teacher"
        with self.assertRaisesRegex(UserError, f"en-fr: no such folder, .*{names}"):
            load_translator("en-fr")

    def test_an_endless_oracle_spread_has_every_length_once(self):
        translator = tiny_models.translator("student")
        options = UnmaskingOptions(oracle_spread=10**9)
        (translation,) = translator.translate(["a house"], options, ["ein Haus"])
        lengths = sorted(len(c.tokens) for c in translation.candidates[0])
        self.assertEqual(lengths, list(range(1, 25)))
