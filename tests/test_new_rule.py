"""A rule that is added in one place is found wherever rules are."""

import dataclasses
import shutil
from collections.abc import Mapping

import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401  (its ops are in the exported graph)
from absl import flags

from benchmarks.paper_figures import measure
from cmlm_tf.commands.decoding_flags import define_rule_flags, read_rule
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.decoding.heuristics import HEURISTICS, Heuristic, Number
from cmlm_tf.decoding.ranking import Ranking
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.calibrate import calibrate
from cmlm_tf.evaluation.sweep import Sweep
from cmlm_tf.modeling.model_dir import load_model
from cmlm_tf.serving.export import build_module, make_engine
from cmlm_tf.serving.speed_tables import servable
from cmlm_tf.translate.calibration import load_calibration
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import UnmaskingOptions
from tests.tiny_models import WORDS, model_dir

LINES = [" ".join(WORDS[i : i + 5]) for i in range(20)]


@dataclasses.dataclass(frozen=True)
class ShareOfRow(Heuristic):
    """Unmasks a share of a row's positions in each pass."""

    share: Number
    name = "share_of_row"
    symbol = "s"
    limits = (0.01, 0.9)
    default = 0.25
    grid = (0.05, 0.1, 0.2, 0.34, 0.5, 0.9)

    def num_best(self, ranked: Ranking, length: tf.Tensor, iteration: Number):
        return tf.cast(tf.math.ceil(self.share * tf.cast(length, tf.float32)), tf.int32)


@pytest.fixture(scope="module", autouse=True)
def added():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(HEURISTICS, ShareOfRow.name, ShareOfRow)
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A student whose speed by this rule was calibrated, and the report."""
    folder = tmp_path_factory.mktemp("new_rule")
    copy = shutil.copytree(model_dir("student"), folder / "model")
    (folder / "dev.en").write_text("\n".join(LINES), "utf-8")
    options = UnmaskingOptions("share_of_row", 0.5, length_beam=2)
    return copy, calibrate(
        load_translator(copy), copy, folder / "dev.en", options, [1.5, 99.0]
    )


def test_its_flags():
    values = flags.FlagValues()
    define_rule_flags(values)
    assert "s of share_of_row (0.25)" in values["share"].help
    values(["decode", "--heuristic=share_of_row"])
    assert read_rule(values) == ("share_of_row", 0.25)
    values(["decode", "--heuristic=share_of_row", "--share=0.5"])
    assert read_rule(values) == ("share_of_row", 0.5)
    values(["decode", "--tau=0.5"])
    with pytest.raises(UserError, match="--tau is no setting of --heuristic=share"):
        read_rule(values)


def test_its_options():
    line = "share_of_row: share must be from 0.01 to 0.9, not 1.5"
    with pytest.raises(UserError, match=line):
        UnmaskingOptions("share_of_row", 1.5)


def test_its_calibration(model):
    copy, report = model
    assert report.num_decodings == len(ShareOfRow.grid)
    assert "| target | share_of_row |" in str(report)
    assert "share_of_row gives speeds from" in report.out_of_reach()
    promise = load_calibration(copy).promise(1.5, "share_of_row", 2)
    assert promise.setting in ShareOfRow.grid


def test_its_sweep_and_figures(model):
    row = Sweep(load_translator(model[0]), LINES, LINES).measure(
        UnmaskingOptions("share_of_row", 0.5)
    )
    assert (row.system, row.setting) == ("share_of_row", "s=0.5")

    class Bench:
        """Takes note of what a figure asks for."""

        length_beam, test = 5, None

        def options(self, heuristic: str, setting: float) -> UnmaskingOptions:
            return UnmaskingOptions(heuristic, setting)

        def quality(self, options: object, text: object) -> Mapping[str, float]:
            return {}

    rows = measure.tradeoff(Bench())["rows"]
    found = [row["setting"] for row in rows if row["system"] == "share_of_row"]
    assert found == [f"s={share:g}" for share in ShareOfRow.grid]


def test_it_is_served_by_its_name(model):
    """By the function that an export saves."""
    copy, report = model
    loaded = load_model(copy)
    subwords = SubwordModel(loaded.subword_path)
    engine = make_engine(loaded.model, subwords.continuing_ids(), "cpu", 5)
    served, _ = build_module(loaded, engine, 5, servable([report.table]))
    speed = report.table.points[2].speedup
    options = {
        "text": tf.constant(LINES[:3]),
        "heuristic": tf.constant([ShareOfRow.name]),
    }
    options["length_beam"] = tf.constant([2])
    translator = load_translator(copy)
    for given, share in (
        ({"setting": tf.constant([0.5])}, 0.5),
        ({"target_speedup": tf.constant([speed])}, ShareOfRow.grid[2]),
        ({}, ShareOfRow.default),
    ):
        outputs = served.serving_default(**options, **given)
        expected = translator.translate(
            LINES[:3], UnmaskingOptions("share_of_row", share, length_beam=2)
        )
        texts = [text.decode() for text in outputs["translation"].numpy()]
        assert texts == [translation.text for translation in expected]
        passes = outputs["iterations"].numpy().tolist()
        assert passes == [translation.iterations for translation in expected]
    with pytest.raises(tf.errors.InvalidArgumentError, match="share must be from 0.01"):
        served.serving_default(**options, setting=tf.constant([1.5]))
