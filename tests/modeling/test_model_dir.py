"""The model directory: moved, renamed, damaged."""

import json
import shutil
from unittest import mock

import pytest
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import load_model, save_model
from tests.modeling.small import make_student, make_teacher, random_sources


class ModelDirTest(tf.test.TestCase, parameterized.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path):
        self.root, self.folder = tmp_path, tmp_path / "model"

    def save(self, model=None):
        model = model or make_student()
        save_model(model, self.folder, b"subword model", "en", "de")
        return model

    @parameterized.product(role=["teacher", "student"])
    def test_a_moved_folder_gives_equal_outputs(self, role):
        model = self.save(make_teacher() if role == "teacher" else make_student())
        moved = self.root / "elsewhere" / "renamed"
        moved.parent.mkdir()
        shutil.move(self.folder, moved)
        loaded = load_model(moved)
        sources = tf.constant(random_sources(3, 6))
        self.assertEqual(loaded.role, role)
        self.assertEqual((loaded.source_language, loaded.target_language), ("en", "de"))
        self.assertEqual(loaded.model.config, model.config)
        for old, new in zip(model.weights, loaded.model.weights, strict=True):
            self.assertAllEqual(old, new)
        self.assertAllEqual(
            loaded.model.encode_sentences(sources), model.encode_sentences(sources)
        )

    @parameterized.parameters(("teacher", "student"), ("student", "teacher"))
    def test_a_model_of_the_other_role(self, role, other):
        self.save(make_teacher() if role == "teacher" else make_student())
        self.assertEqual(load_model(self.folder, role=role).role, role)
        (self.folder / "model.weights.h5").unlink()  # Told before it is read.
        line = f"^{self.folder}: not a {other} but a {role}$"
        with self.assertRaisesRegex(UserError, line):
            load_model(self.folder, role=other)

    def test_saving_again_replaces_the_folder(self):
        self.save(make_student(seed=1))
        second = self.save(make_student(seed=2))
        loaded = load_model(self.folder).model
        self.assertAllEqual(loaded.weights[0], second.weights[0])
        names = sorted(path.name for path in self.root.iterdir())
        self.assertEqual(names, ["model"])

    def test_a_full_disk_leaves_the_folder_before(self):
        first = self.save(make_student(seed=1))
        with (
            mock.patch("shutil.disk_usage", return_value=mock.Mock(free=1000)),
            self.assertRaisesRegex(UserError, "model: not saved: .*No space left"),
        ):
            self.save(make_student(seed=2))
        self.assertAllEqual(load_model(self.folder).model.weights[0], first.weights[0])

    @parameterized.parameters(float("nan"), float("inf"))
    def test_a_weight_that_is_not_finite_is_refused(self, value):
        student = make_student()
        weight = student.weights[3]
        array = weight.numpy()
        array.flat[1] = value
        weight.assign(array)
        self.save(student)
        with self.assertRaisesRegex(UserError, "weights.h5: a weight is not finite"):
            load_model(self.folder)

    @parameterized.product(name=["subword.model", "model.weights.h5"])
    def test_one_flipped_bit_is_named(self, name):
        self.save()
        path = self.folder / name
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        with self.assertRaisesRegex(UserError, f"{name}: damaged.*config.json"):
            load_model(self.folder)

    @parameterized.product(name=["subword.model", "model.weights.h5", "config.json"])
    def test_a_missing_file_is_named(self, name):
        self.save()
        (self.folder / name).unlink()
        with self.assertRaisesRegex(UserError, f"{name}: No such file"):
            load_model(self.folder)

    def change(self, name, value):
        """Changes a field of the description; `model.NAME` is a size."""
        path = self.folder / "config.json"
        description = json.loads(path.read_text())
        *outer, name = name.split(".")
        (description[outer[0]] if outer else description)[name] = value
        path.write_text(json.dumps(description))

    @parameterized.parameters(
        ("role", "seer", "role must be one of"),
        ("format", 99, "format 1"),
        ("length", "class i is length i", "length is"),
        ("model", {"vocab_size": 8}, "model must hold"),
        # Before memory is taken.
        ("model.vocab_size", 1 << 40, "vocab_size must be a whole number"),
        # No weight shows it.
        ("model.num_heads", 4, "model was changed"),
        ("source_language", 3, "source_language must be a printable string"),
    )
    def test_a_wrong_field_is_named(self, field, value, message):
        self.save()
        self.change(field, value)
        with self.assertRaisesRegex(UserError, f"config.json: .*{message}"):
            load_model(self.folder)

    def test_a_folder_of_an_earlier_time_has_no_hash_of_its_sizes(self):
        self.save()
        path = self.folder / "config.json"
        description = json.loads(path.read_text())
        del description["model_sha256"]
        path.write_text(json.dumps(description))
        self.assertEqual(load_model(self.folder).model.config.num_heads, 2)

    def test_no_json(self):
        self.save()
        (self.folder / "config.json").write_text("{")
        with self.assertRaisesRegex(UserError, "config.json: not valid JSON"):
            load_model(self.folder)
