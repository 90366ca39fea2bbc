"""The whole pipeline on a handful of sentences and a tiny model."""

import json
import tempfile
from pathlib import Path
from unittest import mock

import tensorflow as tf

from cmlm_tf.commands import tutorial_run as tutorial
from tests.training.small_run import TINY_SIZES, load_config_file


def tiny_config(role):
    """The tutorial's config, cut down to seconds."""
    config = load_config_file("grammar", role)
    config.model.update(TINY_SIZES)
    config.data.update(
        train="grammar:train?size=150",
        dev="grammar:dev?size=20",
        tokens_per_batch=256,
    )
    config.training.update(max_steps=4, log_every=2, jit_compile=False)
    config.evaluation.update(every=4, bleu_sentences=0, select_by="token_loss")
    return config


class TutorialTest(tf.test.TestCase):
    def test_it_ends_in_the_table(self):
        settings = {"comb_thresh": (0.5, 0.01), "fixed_k": (4,)}
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(tutorial, "SETTINGS", settings),
            mock.patch.object(tutorial, "VOCAB_SIZE", 800),
        ):
            configs = tiny_config("teacher"), tiny_config("student")
            table = tutorial.run_tutorial(*configs, folder, test="grammar:test?size=6")
            folder = Path(folder)
            rows = json.loads((folder / "table.json").read_text())["rows"]
            systems = [row["system"] for row in rows]
            self.assertEqual(
                systems, ["teacher", "teacher", "comb_thresh", "comb_thresh", "fixed_k"]
            )
            for name in ("table.png", "table.svg", "table.md", "student/model"):
                self.assertTrue((folder / name).exists(), name)
            for row in rows:
                self.assertGreater(row["tokens_per_iteration"], 0)
                self.assertGreater(row["sentences_per_second"], 0)
            self.assertLen(table.split("\n"), 2 + len(rows))
            self.assertIn("beam 5", table)


if __name__ == "__main__":
    tf.test.main()
