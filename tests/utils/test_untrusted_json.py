"""JSON files from others: no code runs, no memory is taken on their word."""

import functools
import json
import os
import shutil
import tempfile
from pathlib import Path

import hypothesis
import numpy as np
from absl.testing import parameterized
from hypothesis import strategies as st

from cmlm_tf.data.prepared import PreparedCorpus, prepare_corpus
from cmlm_tf.data.sentence_store import write_manifest
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import model_sizes, read_description
from cmlm_tf.training.journal import Journal, reading_hashed, write_hashed
from cmlm_tf.translate.calibration import (
    Point,
    SpeedTable,
    load_calibration,
    save_table,
)
from cmlm_tf.utils.json_files import json_hash, read_json
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
_MANY = hypothesis.settings(max_examples=100, deadline=None)


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

    def prepare(self) -> PreparedCorpus:
        pairs = [("7 8", "9 10 11"), ("12", "13")]
        return prepare_corpus(ListCorpus(pairs), NumberSubwords(), self.folder)

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
        prepared = self.prepare()
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
        Journal(self.folder, {"beam_size": 5})
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
                    Journal(self.folder, saved["settings"])
            except UserError as error:
                assert str(self.folder) in str(error)

        check()

    def test_a_deep_a_large_and_an_endless_json_file(self):
        (self.folder / "deep").write_text("[" * 100_000)
        (self.folder / "large").write_text(" " * (1 << 20) + "{}")
        os.mkfifo(self.folder / "pipe")
        for path, message in (
            (self.folder / "deep", "not valid JSON"),
            (self.folder / "large", "no file of at most"),
            (self.folder / "pipe", "no file of at most"),
            (Path("/dev/zero"), "no file of at most"),
        ):
            with self.assertRaisesRegex(UserError, f"{path}: {message}"):
                read_json(path)

    def test_offsets_that_point_elsewhere(self):
        prepared = self.prepare()
        content = {k: v for k, v in prepared.manifest.items() if k != "files"}
        (prepared.folder / "manifest.json").unlink()
        for offsets in ([0, 9, 5], [0, 3, 99], [1, 3, 5], [0, 0, 5], []):
            path = prepared.folder / "source.offsets"
            path.write_bytes(np.array(offsets, "<i8").tobytes())
            write_manifest(prepared.folder, content)
            with self.assertRaisesRegex(UserError, "source.offsets: damaged"):
                PreparedCorpus(prepared.folder)
            (prepared.folder / "manifest.json").unlink()
