"""The warm-up requests: read back, replayed, and of every shape."""

import itertools

import tensorflow as tf
from absl.testing import parameterized
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import prediction_log_pb2

from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.serving.grpc_client import predict_request
from cmlm_tf.serving.requests import request_inputs
from cmlm_tf.serving.warmup import WARMUP_FILE, every_shape, prediction_log, text_of
from tests import tiny_models
from tests.serving import exported


def read(path):
    """The requests as signature names and arrays."""
    for record in tf.data.TFRecordDataset(str(path / WARMUP_FILE)):
        log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
        request = log.predict_log.request
        inputs = {name: tf.make_ndarray(t) for name, t in request.inputs.items()}
        yield request.model_spec.signature_name, inputs


class WarmupTest(tf.test.TestCase, parameterized.TestCase):
    def setUp(self):
        super().setUp()
        exported.servable().failures = 0

    def test_a_record_is_the_message_of_tensorflow_serving(self):
        for size in (1, 64):  # Lengths of one byte and of more.
            inputs = request_inputs(["ein Haus"] * size, {"setting": 1.0})
            inputs["ids"] = [[5, 6]]
            expected = prediction_log_pb2.PredictionLog()
            request = expected.predict_log.request
            request.CopyFrom(predict_request(inputs, ""))
            request.model_spec.signature_name = "nbest"
            record = prediction_log("nbest", inputs)
            found = prediction_log_pb2.PredictionLog.FromString(record)
            self.assertEqual(found, expected)
            self.assertLen(record, expected.ByteSize())

    def test_every_signature_is_replayed(self):
        servable = exported.servable()
        replayed = set()
        for name, inputs in read(exported.export_dir()):
            outputs = servable.predict(name, inputs)
            self.assertEqual(set(outputs), set(servable.signatures[name].outputs))
            replayed.add(name)
        expected = {name for name in servable.signatures if not name.startswith("__")}
        self.assertEqual(replayed, expected)

    def test_translations_of_every_shape(self):
        subwords = SubwordModel(tiny_models.subword_file())
        lengths, sizes, beams = (16, 32, 40), (1, 8), (1, 5)
        found = {"serving_default": set(), "complete": set(), "score": set()}
        for name, inputs in every_shape(subwords, lengths, sizes, beams):
            (count,) = {len(ids) for ids in subwords.encode(inputs["text"])}
            length = next(n for n in lengths if count + 1 <= n)
            beam = inputs["length_beam"][0]
            found[name].add((length, len(inputs["text"]), beam))
        every = set(itertools.product(lengths, sizes, beams))
        self.assertEqual(found["serving_default"], every)
        one = set(itertools.product(lengths, (1,), beams))
        self.assertEqual(found["complete"], one)
        self.assertEqual({length for length, _, _ in found["score"]}, set(lengths))

    def test_texts_of_a_number_of_subwords(self):
        subwords = SubwordModel(tiny_models.subword_file())
        for count in (1, 2, 7, 39):
            text = text_of(subwords, count)
            self.assertLen(subwords.encode([text])[0], count)

    @parameterized.parameters("gpu", "tpu")
    def test_the_static_form_names_its_parts_and_gives_the_same(self, device):
        path = exported.export_dir(device=device)
        content = (path / "saved_model.pb").read_bytes()
        graph = saved_model_pb2.SavedModel.FromString(content).meta_graphs[0]
        aliases = {f"cmlm_{n}" for n in ("start", "translate", "complete", "score")}
        self.assertEqual(set(graph.meta_info_def.function_aliases.values()), aliases)
        servable = exported.servable(device=device)
        shapes = set()
        for name, inputs in read(path):
            if name == "serving_default":
                shapes.add((len(inputs["text"]), inputs["length_beam"][0]))
        self.assertEqual(shapes, set(itertools.product((1, 8, 64), (1, 5))))
        inputs = {"text": [line.encode() for line in exported.LINES]}
        # A trace is not compiled: it is the same for both devices.
        names = {"text_only": ("translation", "iterations")}
        if device == "tpu":
            names["trace"] = ("translation", "token_ids", "mask")
        for signature, fields in names.items():
            outputs = servable.predict(signature, inputs)
            expected = exported.servable().predict(signature, inputs)
            for name in fields:
                self.assertEqual(outputs[name].tolist(), expected[name].tolist())


if __name__ == "__main__":
    tf.test.main()
