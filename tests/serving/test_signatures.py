"""What the signatures of an exported model return, against the translator."""

import math

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.serving.requests import request_inputs
from cmlm_tf.special_ids import MASK_ID
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import UnmaskingOptions
from tests.decoding import oracle
from tests.modeling.small import sentence_batch
from tests.serving import exported
from tests.serving.exported import LINES, MAX_LENGTH, SETTINGS, call


def translate(lines, **options):
    return exported.translator().translate(lines, UnmaskingOptions(**options))


class SignaturesTest(tf.test.TestCase, parameterized.TestCase):
    def assert_same(self, outputs, translations):
        self.assertEqual(outputs["translation"], [t.text for t in translations])
        self.assertEqual(outputs["length"], [t.num_tokens for t in translations])
        self.assertEqual(outputs["iterations"], [t.iterations for t in translations])
        self.assertAllClose(outputs["score"], [t.score for t in translations], 1e-3)

    @parameterized.parameters(*SETTINGS)
    def test_translations_are_those_of_the_translator(self, heuristic):
        expected = exported.translations(heuristic)
        options = {"heuristic": heuristic, "setting": SETTINGS[heuristic]}
        outputs = call("serving_default", [LINES], options)
        self.assert_same(outputs, expected)
        if heuristic == "comb_thresh":  # The default, with its default setting.
            self.assertEqual(call("text_only", [LINES]), outputs)
        for line, translation in zip(LINES, expected, strict=True):
            alone = call("serving_default", [[line]], options)
            self.assert_same(alone, [translation])

    def test_merged_requests_get_what_each_asks_for(self):
        line = LINES[3]
        rows = [(name, setting) for name, setting in SETTINGS.items()]
        rows += [("comb_thresh", 0.0), ("comb_thresh", 1.0), ("mask_predict", 1.0)]
        asked = [
            {"heuristic": name, "setting": setting, "length_beam": beam}
            for (name, setting), beam in zip(
                rows, [1, 2, 3, 4, 5, 6, 2, 7], strict=True
            )
        ]
        # As a server does that merges requests into batches.
        requests = [exported.arrays(request_inputs([line], row)) for row in asked]
        names = requests[0]
        merged = {
            n: np.concatenate([request[n] for request in requests]) for n in names
        }
        outputs = exported.servable().predict("serving_default", merged)
        outputs = {name: exported.as_list(value) for name, value in outputs.items()}
        self.assert_same(outputs, [translate([line], **row)[0] for row in asked])
        self.assertGreater(len(set(outputs["iterations"])), 2)

    def test_loaded_functions_have_the_inputs_by_name_and_by_place(self):
        inputs = {"text": "a house", "partial": "<mask> Haus"}
        inputs |= {"heuristic": "comb_thresh", "setting": 0.9}
        inputs = {name: tf.constant([value]) for name, value in inputs.items()}
        complete = exported.load().complete
        named, placed = complete(**inputs), complete(*inputs.values())
        expected = call("complete", [["a house"], ["<mask> Haus"]], {"setting": 0.9})
        for outputs in (named, placed):
            self.assertEqual(
                [text.decode() for text in outputs["translation"].numpy()],
                expected["translation"],
            )

    def test_max_iterations(self):
        limits = [1, 2, 3]
        options = {"heuristic": "fixed_k", "setting": 1.0, "max_iterations": limits}
        outputs = call("serving_default", [LINES[3:4] * 3], options)
        self.assertEqual(outputs["iterations"], limits)

    def test_nbest_is_every_candidate_best_first(self):
        outputs = call("nbest", [LINES], {"length_beam": 4})
        for row, translation in enumerate(translate(LINES, length_beam=4)):
            (candidates,) = translation.candidates or ((),)
            missing = 4 - len(candidates)
            for name, values, none in (
                ("translation", [c.text for c in candidates], ""),
                ("length", [len(c.tokens) for c in candidates], 0),
                ("iterations", [c.iterations for c in candidates], 0),
            ):
                self.assertEqual(outputs[name][row], values + [none] * missing)
            scores = [c.score for c in candidates] + [-math.inf] * missing
            self.assertAllClose(outputs["score"][row], scores, 1e-3)

    def test_trace_holds_the_passes_of_the_best_candidate(self):
        outputs = call("trace", [LINES], {"heuristic": "fixed_k", "setting": 2.0})
        expected = translate(LINES, heuristic="fixed_k", setting=2, trace=True)
        self.assert_same(outputs, expected)
        for name in ("token_ids", "log_probs", "mask"):
            shape = [len(LINES), MAX_LENGTH, MAX_LENGTH]
            self.assertEqual(list(np.shape(outputs[name])), shape)
        for row, translation in enumerate(expected):
            passes = translation.candidates[0][0].passes if translation.text else ()
            self.assertEqual(outputs["passes"][row], len(passes))
            for step, state in enumerate(passes):
                length = len(state["mask"])
                for name in ("token_ids", "mask"):
                    found = outputs[name][row][step]
                    self.assertEqual(found[:length], state[name])
                    self.assertFalse(any(found[length:]))
                found = outputs["log_probs"][row][step][:length]
                self.assertAllClose(found, state["log_probs"], 1e-3)

    def test_a_trace_of_nothing_is_empty(self):
        outputs = call("trace", [["", " "]])
        self.assertEqual(outputs["translation"], ["", ""])
        for name in ("passes", "length", "iterations", "score"):
            self.assertEqual(outputs[name], [0, 0])
        for name in ("token_ids", "log_probs", "mask"):
            shape = [2, MAX_LENGTH, MAX_LENGTH]
            self.assertEqual(list(np.shape(outputs[name])), shape)
            self.assertFalse(np.any(outputs[name]))

    def test_decode_ids_is_the_same_without_text(self):
        subwords = exported.translator().subwords
        sources = [ids if line.strip() else [] for line, ids in _encoded(subwords)]
        padded = np.zeros([len(sources), 40], np.int32)
        for row, ids in enumerate(sources):
            padded[row, : len(ids)] = ids
        outputs = call("decode_ids", [padded])
        expected = exported.translations("comb_thresh")
        for row, translation in enumerate(expected):
            length = outputs["length"][row]
            self.assertEqual(length, translation.num_tokens)
            ids = outputs["ids"][row]
            self.assertEqual(subwords.decode([ids[:length]])[0], translation.text)
            self.assertFalse(any(ids[length:]))

    @parameterized.parameters(*SETTINGS)
    def test_scores_equal_plain_python(self, heuristic):
        sources, targets = [LINES[0], LINES[4]], ["ein rote Haus", "der Hund und die"]
        options = {"heuristic": heuristic, "setting": SETTINGS[heuristic]}
        outputs = call("score", [sources, targets], options)
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            length_log_prob, log_probs, passes = forced_score(
                source, target, heuristic, SETTINGS[heuristic]
            )
            self.assertEqual(outputs["length"][row], len(log_probs))
            self.assertEqual(outputs["iterations"][row], passes)
            self.assertAllClose(outputs["length_log_prob"][row], length_log_prob, 1e-4)
            self.assertAllClose(outputs["score"][row], np.mean(log_probs), 1e-4)
            total = length_log_prob + sum(log_probs)
            self.assertAllClose(outputs["log_prob"][row], total, 1e-4)

    def test_nothing_is_the_translation_of_nothing(self):
        outputs = call("score", [["", "a house", ""], ["", "", "ein Haus"]])
        self.assertEqual(outputs["log_prob"], [0.0, -math.inf, -math.inf])
        self.assertEqual(outputs["score"], [0.0, -math.inf, -math.inf])


def _encoded(subwords):
    return zip(LINES, subwords.encode(LINES), strict=True)


def forced_score(source, target, heuristic, setting):
    """Scores a target one pass after the other, by the whole padded model."""
    translator = load_translator(exported.student_dir(), frozen=False)
    (source_ids,), (target_ids,) = map(translator.subwords.encode, ([source], [target]))
    masked, log_probs, passes = set(range(len(target_ids))), [0.0] * len(target_ids), 0
    while masked:
        passes += 1
        seen = [MASK_ID if i in masked else n for i, n in enumerate(target_ids)]
        batch = sentence_batch(
            np.array([[*source_ids, 3]], np.int32),
            np.array([seen], np.int32),
            np.ones([1, len(seen)], bool),
        )
        logits, length_logits = translator.model(batch)
        table = tf.nn.log_softmax(logits[0, :, MASK_ID + 1 :]).numpy()
        order = oracle.HEURISTICS[heuristic]
        best = table.max(axis=1).tolist()
        observed = order(best, masked, list(range(len(target_ids))), passes, setting)
        for i in observed:
            log_probs[i] = float(table[i, target_ids[i] - MASK_ID - 1])
        masked -= observed
    lengths = tf.nn.log_softmax(length_logits[0, 0]).numpy()
    return float(lengths[len(target_ids) - 1]), log_probs, passes


if __name__ == "__main__":
    tf.test.main()
