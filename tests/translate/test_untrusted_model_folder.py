"""Model folders from others: no code runs, no memory is taken on their word."""

import json
import os
import pickle
import resource
import shutil

import h5py
import numpy as np
import pytest
from absl.testing import parameterized

from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import load_model
from cmlm_tf.translate.loading import load_translator, make_translator
from cmlm_tf.utils.files import sha256_file
from cmlm_tf.utils.json_files import json_hash
from tests.tiny_models import model_dir


class ModelFolderTest(parameterized.TestCase):
    """A folder whose hashes are right, and whose files are not."""

    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path):
        self.folder = tmp_path / "model"
        shutil.copytree(model_dir("student"), self.folder)
        self.weights = self.folder / "model.weights.h5"

    def sign(self, **sizes):
        """Makes the hashes right again."""
        path = self.folder / "config.json"
        content = json.loads(path.read_text())
        content["model"] |= sizes
        content |= {
            "model_sha256": json_hash(content["model"]),
            "weights_sha256": sha256_file(self.weights),
            "subword_sha256": sha256_file(self.folder / "subword.model"),
        }
        path.write_text(json.dumps(content))

    def refused(self, message):
        self.sign()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with self.assertRaisesRegex(UserError, f"model.weights.h5: .*{message}"):
            load_model(self.folder)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertLess(after - before, 200 * 1024)  # in KiB

    def test_a_pickle_is_not_opened(self):
        class Bomb:
            def __reduce__(self):
                return os.abort, ()

        self.weights.write_bytes(pickle.dumps(Bomb()) + bytes(1 << 20))
        self.refused("damaged")

    @parameterized.parameters(
        {"vocab_size": 1 << 20, "model_dim": 1 << 14},
        {"num_decoder_layers": 256, "feed_forward_dim": 1 << 16},
    )
    def test_sizes_beyond_the_file_are_refused_before_memory_is_taken(self, **sizes):
        self.sign(**sizes)
        with self.assertRaisesRegex(UserError, "holds .* bytes, a model of these"):
            load_model(self.folder)

    @parameterized.parameters(
        ({"shape": (1 << 20, 1 << 14)}, "names .* bytes of values, but holds"),  # zeros
        ({"shape": (64, 64), "compression": "gzip"}, "no plain array"),
        ({"external": [("/etc/passwd", 0, h5py.h5f.UNLIMITED)]}, "no plain array"),
        ({"shape": (1,), "dtype": h5py.ref_dtype}, "no plain array"),
    )
    def test_an_array_that_is_another(self, kind, message):
        with h5py.File(self.weights, "a") as file:
            names = []
            file.visititems(
                lambda name, item: (
                    names.append(name) if hasattr(item, "shape") else None
                )
            )
            kind = {"shape": file[names[0]].shape, "dtype": "f4"} | kind
            del file[names[0]]
            file.create_dataset(names[0], **kind)
        self.refused(message)

    @parameterized.parameters(
        (h5py.ExternalLink("/etc/passwd", "/"), "is a link"),
        (h5py.SoftLink("/decoder"), "is a link"),
        (None, "circle"),
    )
    def test_a_group_that_leads_elsewhere(self, link, message):
        with h5py.File(self.weights, "a") as file:
            file["decoder/elsewhere"] = link or file["decoder"]
        self.refused(message)

    def test_flipped_bytes(self):
        content = self.weights.read_bytes()
        rng = np.random.default_rng(7)
        for _ in range(25):
            damaged = np.frombuffer(content, np.uint8).copy()
            # Most of the structure lies in front of the values.
            places = rng.integers(0, 20_000, 3)
            damaged[places] = rng.integers(0, 256, 3)
            self.weights.write_bytes(damaged.tobytes())
            self.sign()
            try:
                load_model(self.folder)
            except UserError as error:
                self.assertIn("model.weights.h5", str(error))

    def test_a_vocabulary_of_another_size(self):
        other = json.loads((self.folder / "config.json").read_text())["model"]
        self.sign(vocab_size=other["vocab_size"] - 8)
        with self.assertRaisesRegex(UserError, "does not fit"):
            load_model(self.folder)
        self.sign(vocab_size=other["vocab_size"])
        loaded = load_model(self.folder)
        object.__setattr__(loaded.model.config, "vocab_size", 8)
        with self.assertRaisesRegex(UserError, "subwords, but the model has 8"):
            make_translator(loaded)

    def test_a_vocabulary_that_is_replaced_after_loading(self):
        self.sign()
        loaded = load_model(self.folder)
        # Of the right size, with another piece.
        content = loaded.subword_path.read_bytes()
        loaded.subword_path.write_bytes(content.replace(b"Katze", b"Tatze"))
        with self.assertRaisesRegex(UserError, "subword.model: changed since"):
            make_translator(loaded)

    def test_a_folder_that_was_signed_translates(self):
        self.sign()
        self.assertLen(load_translator(self.folder).translate(["a cat"]), 1)
