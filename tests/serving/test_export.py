"""The export as a folder, and in a process that does not know the package."""

import functools
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import load_model
from cmlm_tf.serving import export
from cmlm_tf.serving.export import export_model
from tests import tiny_models
from tests.serving import exported
from tests.serving.exported import LINES, MAX_LENGTH, SETTINGS

#: Stock TensorFlow Serving links these beside TensorFlow's own.
TEXT_OPS = {
    "SentencepieceOp",
    "SentencepieceTokenizeOp",
    "SentencepieceDetokenizeOp",
}
PYTHON_OPS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


@functools.cache
def in_a_fresh_process():
    """What the export gives for the lines, and for each heuristic's in one batch."""
    options = {
        "heuristic": [name for name in SETTINGS for _ in LINES],
        "setting": [setting for setting in SETTINGS.values() for _ in LINES],
    }
    requests = [
        exported.inputs_of("serving_default", [batch], given)
        for batch, given in [(LINES, None), (LINES * len(SETTINGS), options)]
    ]
    script = Path(__file__).with_name("fresh_process.py")
    process = subprocess.run(
        [sys.executable, script, exported.export_dir()],
        input=json.dumps(requests),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(process.stdout)


def ops_in(path):
    """The names of all ops in a SavedModel, those in its functions too."""
    content = (path / "saved_model.pb").read_bytes()
    saved = saved_model_pb2.SavedModel.FromString(content)
    graph = saved.meta_graphs[0].graph_def
    nodes = list(graph.node)
    for function in graph.library.function:
        nodes += function.node_def
    return {node.op for node in nodes}


class ExportTest(tf.test.TestCase):
    def folder(self):
        return Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_process_without_the_package_gives_the_same(self):
        result = in_a_fresh_process()
        self.assertEqual(result["ours"], [])
        default = exported.translations("comb_thresh")
        every = [x for name in SETTINGS for x in exported.translations(name)]
        for outputs, expected in zip(result["outputs"], (default, every), strict=True):
            for name, field in (
                ("translation", "text"),
                ("length", "num_tokens"),
                ("iterations", "iterations"),
            ):
                values = [getattr(translation, field) for translation in expected]
                self.assertEqual(outputs[name], values)
            scores = [translation.score for translation in expected]
            self.assertAllClose(outputs["score"], scores, 1e-3)

    def test_every_op_is_in_a_stock_server(self):
        ops = ops_in(exported.export_dir())
        stock = set(in_a_fresh_process()["core_ops"]) | TEXT_OPS
        self.assertEqual(ops - (stock - PYTHON_OPS), set())
        self.assertContainsSubset(TEXT_OPS, ops)

    def test_the_subword_model_is_an_asset(self):
        asset = exported.export_dir() / "assets" / "subword.model"
        self.assertEqual(asset.read_bytes(), tiny_models.subword_file().read_bytes())

    def test_bfloat16_halves_the_weights_and_scores_stay_float32(self):
        exact, rough = (
            exported.export_dir(**kwargs) for kwargs in ({}, {"dtype": "bfloat16"})
        )
        sizes = [
            sum(file.stat().st_size for file in (path / "variables").iterdir())
            for path in (exact, rough)
        ]
        self.assertLess(sizes[1], 0.7 * sizes[0])
        outputs = exported.servable(dtype="bfloat16").signatures["score"].outputs
        types = {tf.dtypes.as_dtype(spec.dtype) for spec in outputs.values()}
        self.assertEqual(types, {tf.float32, tf.int32})
        one_pass = {"heuristic": "mask_predict", "setting": 1.0}
        expected = exported.call("serving_default", [LINES], one_pass)["score"]
        found = exported.call("serving_default", [LINES], one_pass, dtype="bfloat16")[
            "score"
        ]
        self.assertAllClose(found, expected, atol=0.05)

    def test_an_export_for_a_gpu_holds_each_weight_once(self):
        path = exported.export_dir(device="gpu")
        variables = tf.train.list_variables(str(path / "variables" / "variables"))
        shapes = [shape for name, shape in variables if "VALUE" in name]
        for dtype in ("float32", "bfloat16"):
            student = load_model(exported.student_dir(), dtype).model
            count = sum(math.prod(weight.shape) for weight in student.weights)
            vectors = export.make_engine(student, [9], "gpu", 10).weights
            self.assertEqual(sum(math.prod(x.shape) for x in vectors), count)
            types = [weight.dtype for weight in student.weights]
            self.assertCountEqual([x.dtype.name for x in vectors], set(types))
            if dtype == "float32":
                self.assertEqual(shapes, [[count]])

    def test_a_folder_that_cannot_be_a_version(self):
        folder, file = self.folder(), self.folder() / "file"
        file.touch()
        for path, message in (
            (folder / "latest", "must be a version, a number"),
            (folder / "\u0661", "must be a version, a number"),
            (folder / "01", "a number without leading zeros"),
            (folder / "00", "a number without leading zeros"),
            (file / "1", f"^{file}: is no folder$"),
            (file / "student" / "1", f"^{file}: is no folder$"),
            (folder / str(2**63), f"versions are numbers up to {2**63 - 1}"),
            (folder / ("9" * 200), "versions are numbers up to"),
            (exported.export_dir(), "is there already"),
        ):
            with self.assertRaisesRegex(UserError, message):
                export_model(exported.student_dir(), path)
        self.assertEmpty(list(folder.iterdir()))

    def test_a_length_beam_that_cannot_be_allowed(self):
        for most in (4, MAX_LENGTH + 1):
            message = f"max_length_beam must be from 5, .* to {MAX_LENGTH}, .* {most}$"
            with self.assertRaisesRegex(UserError, message):
                export_model(
                    exported.student_dir(), self.folder() / "1", max_length_beam=most
                )

    def test_a_version_that_appears_meanwhile_stays(self):
        output = self.folder() / "1"

        def other_export(*_):
            (output / "of_another").mkdir(parents=True)

        with (
            mock.patch.object(tf.saved_model, "save"),
            mock.patch.object(export, "write_warmup", side_effect=other_export),
            self.assertRaisesRegex(UserError, "1: is there already$"),
        ):
            export_model(exported.student_dir(), output)
        self.assertEqual(
            list(output.parent.rglob("*")), [output, output / "of_another"]
        )

    def test_a_failed_export_leaves_nothing(self):
        folder = self.folder()
        with self.assertRaisesRegex(UserError, "not a student but a teacher"):
            export_model(tiny_models.model_dir("teacher"), folder / "1")
        full = OSError("No space left on device")
        with (
            mock.patch.object(tf.saved_model, "save", side_effect=full),
            self.assertRaisesRegex(UserError, "not written: No space left"),
        ):
            export_model(exported.student_dir(), folder / "1")
        self.assertEmpty(list(folder.iterdir()))


if __name__ == "__main__":
    tf.test.main()
