"""Requests that a server merges get what each of them asked for."""

import concurrent.futures

import tensorflow as tf

from tests.serving import batching, exported
from tests.serving.exported import LINES, SETTINGS


def arrays(batch, options=None):
    return exported.arrays(exported.inputs_of("serving_default", [batch], options))


class BatchingTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.servable = exported.servable()
        self.servable.requests.clear()
        self.servable.failures = 0
        self.batching = batching.Batching(self.servable, timeout=5.0)
        self.addCleanup(self.batching.close)

    def test_different_settings_in_one_batch(self):
        requests = [
            ([LINES[3]], {"heuristic": name, "setting": setting})
            for name, setting in SETTINGS.items()
        ] + [([LINES[3]], {"setting": tau}) for tau in (0.0, 1.0)]
        rest = 64 - len(requests)
        requests.append(([LINES[0]] * rest, {n: [v] * rest for n, v in _one().items()}))
        with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
            futures = [
                pool.submit(self.batching.predict, "serving_default", arrays(*request))
                for request in requests
            ]
            outputs = [future.result() for future in futures]
        self.assertEqual(list(self.servable.requests), [64])
        for (batch, options), found in zip(requests, outputs, strict=True):
            expected = exported.call("serving_default", [batch], options)
            texts = [text.decode() for text in found["translation"]]
            self.assertEqual(texts, expected["translation"])
            self.assertEqual(found["iterations"].tolist(), expected["iterations"])

    def test_a_default_does_not_fit_two_texts(self):
        with self.assertRaisesRegex(
            tf.errors.InvalidArgumentError, "0th-dimension size"
        ):
            self.batching.predict("serving_default", arrays(LINES[:2]))


def _one():
    return {
        name: value[0]
        for name, value in exported.inputs_of("serving_default", [[""]], {}).items()
        if name != "text"
    }


if __name__ == "__main__":
    tf.test.main()
