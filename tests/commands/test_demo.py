"""The demo and the models that come with the package."""

import csv
import json
import tempfile
from pathlib import Path
from unittest import mock

import tensorflow as tf

from cmlm_tf.commands import demo
from cmlm_tf.evaluation.bleu import sacre_bleu
from cmlm_tf.pretrained import EN_DE_STUDENT, EN_DE_TEACHER, EN_DE_TEST
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions


def read_test_set():
    with open(EN_DE_TEST, encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


class PretrainedTest(tf.test.TestCase):
    def test_test_set(self):
        rows = read_test_set()
        styles = [style for style, _, _ in rows]
        for style in ("everyday", "technical", "news"):
            self.assertEqual(styles.count(style), 100)
        self.assertLen({english for _, english, _ in rows}, 300)

    def test_models_fit_in_the_package(self):
        files = [path for path in EN_DE_TEST.parent.rglob("*") if path.is_file()]
        self.assertLess(sum(path.stat().st_size for path in files), 32e6)

    def test_they_translate(self):
        _, english, german = zip(*read_test_set()[::10], strict=True)
        for folder, options, least in (
            (EN_DE_TEACHER, BeamOptions(beam_size=1), 45),
            (EN_DE_STUDENT, UnmaskingOptions("comb_thresh", 0.5), 40),
        ):
            translations = load_translator(folder).translate(english, options)
            texts = [translation.text for translation in translations]
            self.assertGreater(sacre_bleu(texts, german, "de", 0).value, least)


class DemoTest(tf.test.TestCase):
    def test_it_ends_in_the_table(self):
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(demo, "DEMO_SETTINGS", {"comb_thresh": (0.5, 0.01)}),
        ):
            folder = Path(folder) / "demo"
            few = "|".join(english for _, english, _ in read_test_set()[:4])
            table = demo.run_demo(folder, f"{demo.TEST}&where=1:{few}")
            rows = json.loads((folder / "table.json").read_text())["rows"]
            for name in ("table.png", "table.svg", "table.md", "passes.html"):
                self.assertTrue((folder / name).exists(), name)
        self.assertLen(table.split("\n"), 2 + len(rows))
        self.assertIn("tau=0.01", table)


if __name__ == "__main__":
    tf.test.main()
