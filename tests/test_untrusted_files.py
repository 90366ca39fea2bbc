"""Files from others: no code runs, no memory is taken on their word."""

import functools
import json
import os
import pickle
import resource
import shutil
import tempfile
from pathlib import Path

import h5py
import hypothesis
import numpy as np
import pytest
from absl.testing import parameterized
from hypothesis import strategies as st

from cmlm_tf.calibration import Point, SpeedTable, load_calibration, save_table
from cmlm_tf.data.prepared import PreparedCorpus, prepare_corpus
from cmlm_tf.data.sentence_store import write_manifest
from cmlm_tf.errors import UserError
from cmlm_tf.files import json_hash, read_json, sha256_file
from cmlm_tf.modeling.model_dir import load_model, model_sizes, read_description
from cmlm_tf.training.journal import reading_hashed, resume, write_hashed
from cmlm_tf.translator import load_translator
from tests.data.fakes import ListCorpus, NumberSubwords
from tests.tiny_models import model_dir

_ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["teacher", "O", "<u2", "../../x", "float16", "1e999"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=5,
)
_MANY = hypothesis.settings(max_examples=300, deadline=None)


def paths_of(value, path=()):
    """Every place in a JSON value, the whole included."""
    yield path
    items = value.items() if isinstance(value, dict) else ()
    for key, inner in items:
        yield from paths_of(inner, (*path, key))


def altered(value, path, new):
    """A copy with something else at a place; `...` takes it away."""
    if not path:
        return new
    copy = dict(value)
    copy[path[0]] = altered(value[path[0]], path[1:], new)
    if copy[path[0]] is ...:
        del copy[path[0]]
    return copy


@st.composite
def alterations(draw, value):
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(sorted(paths_of(value), key=repr)))
        new = draw(_ANY_JSON | st.just(...) if path else _ANY_JSON)
        value = altered(value, path, new)
        if not isinstance(value, dict):
            break
    return value


@functools.cache
def description():
    return json.loads((model_dir("student") / "config.json").read_text())


class FuzzTest(parameterized.TestCase):
    """Only a `UserError` comes out of a loader, whatever the file holds."""

    def setUp(self):
        super().setUp()
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def test_config(self):
        path = self.folder / "config.json"

        @_MANY
        @hypothesis.given(st.deferred(lambda: alterations(description())))
        def check(content):
            path.write_text(json.dumps(content))
            try:
                sizes = model_sizes(self.folder, read_description(self.folder))
            except UserError as error:
                assert "\n" not in str(error).strip()
            else:
                assert sizes.vocab_size <= 1 << 20

        check()

    @_MANY
    @hypothesis.given(st.binary(max_size=60))
    def test_bytes_for_json(self, content):
        path = self.folder / "any.json"
        path.write_bytes(content)
        try:
            read_json(path)
        except UserError as error:
            assert str(path) in str(error)

    def test_calibration(self):
        shutil.copytree(model_dir("student"), self.folder, dirs_exist_ok=True)
        points = (Point(1.5, 0.5), Point(3.0, 0.1))
        key = "comb_thresh", "update_masked_sub", 5, False
        save_table(self.folder, SpeedTable(*key, points, 9, "0" * 64))
        path = self.folder / "calibration.json"
        whole = json.loads(path.read_text())
        (record,) = whole["tables"]

        @_MANY
        @hypothesis.given(
            alterations(whole)
            | alterations(record).map(lambda table: whole | {"tables": [table]})
        )
        def check(content):
            path.write_text(json.dumps(content))
            try:
                tables = load_calibration(self.folder).tables
            except UserError as error:
                assert str(path) in str(error)
            else:
                assert all(0 <= p.setting <= 1e6 for t in tables for p in t.points)

        check()

    def test_manifest_of_a_prepared_corpus(self):
        pairs = [("7 8", "9 10 11"), ("12", "13")]
        prepared = prepare_corpus(ListCorpus(pairs), NumberSubwords(), self.folder)
        path = prepared.folder / "manifest.json"
        whole = json.loads(path.read_text())["content"]

        @_MANY
        @hypothesis.given(alterations(whole))
        def check(content):
            manifest = {"sha256": json_hash(content), "content": content}
            path.write_text(json.dumps(manifest))
            try:
                corpus = PreparedCorpus(prepared.folder)
            except UserError:
                return
            assert corpus.num_pairs == 2
            assert corpus.source.tokens.dtype.kind in "iu"

        check()

    def test_journal_of_a_distillation(self):
        resume(self.folder, {"beam_size": 5})
        path = self.folder / "journal.json"
        whole = json.loads(path.read_text())
        del whole["sha256 of the rest"]

        @_MANY
        @hypothesis.given(alterations(whole))
        def check(content):
            if isinstance(content, dict):
                write_hashed(path, content)
            else:
                path.write_text(json.dumps(content))
            try:
                with reading_hashed(path) as saved:
                    resume(self.folder, saved["settings"])
            except UserError as error:
                assert str(self.folder) in str(error)

        check()

    def test_a_deep_a_large_and_an_endless_json_file(self):
        deep, large = self.folder / "deep.json", self.folder / "large.json"
        deep.write_text("[" * 100_000)
        with self.assertRaisesRegex(UserError, "deep.json: not valid JSON"):
            read_json(deep)
        large.write_text(" " * (1 << 20) + "{}")
        with self.assertRaisesRegex(UserError, "large.json: no file of at most"):
            read_json(large)
        with self.assertRaisesRegex(UserError, "/dev/zero: no file"):
            read_json(Path("/dev/zero"))
        os.mkfifo(self.folder / "pipe.json")
        with self.assertRaisesRegex(UserError, "pipe.json: no file"):
            read_json(self.folder / "pipe.json")

    def test_offsets_that_point_elsewhere(self):
        pairs = [("7 8", "9 10 11"), ("12", "13")]
        prepared = prepare_corpus(ListCorpus(pairs), NumberSubwords(), self.folder)
        content = {k: v for k, v in prepared.manifest.items() if k != "files"}
        (prepared.folder / "manifest.json").unlink()
        for offsets in ([0, 9, 5], [0, 3, 99], [1, 3, 5], [0, 0, 5], []):
            path = prepared.folder / "source.offsets"
            path.write_bytes(np.array(offsets, "<i8").tobytes())
            write_manifest(prepared.folder, content)
            with self.assertRaisesRegex(UserError, "source.offsets: damaged"):
                PreparedCorpus(prepared.folder)
            (prepared.folder / "manifest.json").unlink()


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

    def first(self, file):
        """The name of one array in the file."""
        names = []
        file.visititems(
            lambda name, item: (
                names.append(name) if isinstance(item, h5py.Dataset) else None
            )
        )
        return names[0]

    def test_the_folder_is_good_as_it_is(self):
        self.sign()
        load_model(self.folder)

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

    def test_an_array_that_is_not_there(self):
        with h5py.File(self.weights, "a") as file:
            name = self.first(file)
            del file[name]
            file.create_dataset(name, (1 << 20, 1 << 14), "f4")  # All zeros.
        self.refused("names .* bytes of values, but holds")

    def test_a_compressed_array(self):
        with h5py.File(self.weights, "a") as file:
            name = self.first(file)
            del file[name]
            file.create_dataset(name, (64, 64), "f4", compression="gzip")
        self.refused("no plain array")

    def test_values_in_another_file(self):
        with h5py.File(self.weights, "a") as file:
            name = self.first(file)
            shape = file[name].shape
            del file[name]
            external = [("/etc/passwd", 0, h5py.h5f.UNLIMITED)]
            file.create_dataset(name, shape, "f4", external=external)
        self.refused("no plain array")

    @parameterized.parameters(
        h5py.ExternalLink("/etc/passwd", "/"), h5py.SoftLink("/decoder")
    )
    def test_links(self, link):
        with h5py.File(self.weights, "a") as file:
            file["decoder/elsewhere"] = link
        self.refused("is a link")

    def test_a_circle_of_groups(self):
        with h5py.File(self.weights, "a") as file:
            file["decoder/circle"] = file["decoder"]
        self.refused("circle")

    def test_references(self):
        with h5py.File(self.weights, "a") as file:
            file.create_dataset("decoder/more", (1,), h5py.ref_dtype)
        self.refused("no plain array")

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
        from cmlm_tf.translator import make_translator

        with self.assertRaisesRegex(UserError, "subwords, but the model has 8"):
            make_translator(loaded)

    def test_a_folder_that_was_signed_translates(self):
        self.sign()
        self.assertLen(load_translator(self.folder).translate(["a cat"]), 1)
