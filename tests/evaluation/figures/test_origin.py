"""Figures of two models, texts or labels never come together in a folder."""

import hashlib
import json
import shutil
from unittest import mock

import pytest

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures import workbench
from cmlm_tf.modeling.model_dir import ROLES, SUBWORD_FILE, WEIGHTS_FILE
from cmlm_tf.utils.files import sha256_file
from tests.evaluation.figures.tiny_run import measure_tiny, result_of, write_corpus
from tests.tiny_models import model_dir


def test_a_figure_tells_what_it_is_of(folder):
    origin = result_of(folder, "tradeoff")["origin"]
    for role in ("student", "teacher"):
        for name, file in (("weights", WEIGHTS_FILE), ("subword", SUBWORD_FILE)):
            sha256 = sha256_file(model_dir(role) / file)
            assert origin.pop(f"{role}_{name}_sha256") == sha256
    lines = [(folder / f"a.{side}").read_text("utf-8") for side in ("en", "de")]
    sha256 = hashlib.sha256("".join(lines).removesuffix("\n").encode()).hexdigest()
    languages = {"source_language": "en", "target_language": "de"}
    assert origin == languages | {"dev_sha256": sha256, "test_sha256": sha256}


def _altered(folder, role, **fields):
    """A copy of a model whose description says something else."""
    shutil.copytree(model_dir(role), folder)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    return str(folder)


def test_what_is_of_something_else_is_refused_before_decoding(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    before = {p: p.read_bytes() for p in (tmp_path / "out").rglob("*.*")}
    other = tmp_path / "other"
    other.mkdir()
    write_corpus(other, words=5)
    text = f"files:{other}/a.en,{other}/a.de"
    languages = {"target_language": "fr"}
    french = {f"{k}_dir": _altered(tmp_path / k, k, **languages) for k in ROLES}
    subwords = {
        "student_dir": _altered(tmp_path / "s", "student", subword_sha256="0" * 64)
    }
    ours = result_of(folder, "tradeoff")["origin"]
    cases = (
        ({"label": "other"}, "label is 'en-de, tiny', but 'other'"),
        ({"test": text}, f"test_sha256 is {ours['test_sha256'][:12]}..., but "),
        ({"dev": text}, "dev_sha256 is "),
        ({"most_lines": 5}, "lines of dev is 6, but 5"),
        (french, "target_language is 'de', but 'fr'"),
        (subwords, "student_subword_sha256 is "),
    )
    fail = mock.Mock(side_effect=AssertionError("loaded"))
    for with_points in (False, True):
        if with_points:
            for path in (tmp_path / "out").glob("*.json"):
                path.unlink()
        else:
            shutil.move(tmp_path / "out" / "points", tmp_path / "points")
        for change, fault in cases:
            if with_points and "label" in change:
                continue  # It is of the plots, not of the points.
            with (
                mock.patch.object(workbench, "load_translator", fail),
                pytest.raises(UserError) as error,
            ):
                measure_tiny(tmp_path, **change)
            named = "out/points/" if with_points else "out/tradeoff.json: "
            assert str(error.value).startswith(f"{tmp_path}/{named}")
            assert fault in str(error.value) or "most_lines" in change
            end = "in this run: each model and text needs a folder of its own"
            assert str(error.value).endswith(end)
        if not with_points:
            shutil.move(tmp_path / "points", tmp_path / "out" / "points")
    kept = {p: p.read_bytes() for p in before if p.exists()}
    assert kept == {p: before[p] for p in kept}
    with pytest.raises(UserError, match="target_language is 'fr', the student's 'de'"):
        measure_tiny(tmp_path, teacher_dir=french["teacher_dir"])
