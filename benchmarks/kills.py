r"""Kills training and distillation at random moments and compares what comes out.

A small teacher is trained on the toy corpus, undisturbed and again with `kill -9` at
random moments, start-up and saving included; likewise its distillation. A run that
ends before all kills were made is compared and begun anew. The weights, those of
the last checkpoint and those of the model directory, and the distilled files must
be equal to the last bit, and no temporary file may be left.

A GPU adds up in no fixed order: two undisturbed runs of it differ. So weights need a
tolerance there, or kernels that do not; distilled files must be equal always.

Examples:
  python -m benchmarks.kills --kills=50 --folder=/tmp/kills
  XLA_FLAGS=--xla_gpu_deterministic_ops=true TF_DETERMINISTIC_OPS=1 \
      python -m benchmarks.kills --kills=10 --what=training --jit_compile \
      --folder=/tmp/kills
"""

import json
import multiprocessing
import random
import time
from pathlib import Path

import ml_collections
from absl import flags, logging

from benchmarks.killing import (
    compare,
    kill_and_compare,
    read_files,
    read_run,
    run_until_killed,
)
from cmlm_tf.commands import cli
from cmlm_tf.configs import toy
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.subwords import train_subword_model
from cmlm_tf.errors import UserError
from cmlm_tf.training.distillation import distill
from cmlm_tf.training.trainer import train
from examples import toy_corpus

_KILLS = flags.DEFINE_integer("kills", 50, "Kills of each.", lower_bound=1)
_WHAT = flags.DEFINE_multi_enum(
    "what",
    ["training", "distillation"],
    ["training", "distillation"],
    "What to kill; a distillation's teacher is trained in any case.",
)
_FOLDER = flags.DEFINE_string("folder", None, "An empty folder.", required=True)
_JIT_COMPILE = flags.DEFINE_bool("jit_compile", False, "Whether to train with XLA.")
_TOLERANCE = flags.DEFINE_float(
    "tolerance",
    0.0,
    "Most that a weight may differ by; if not 0, a second undisturbed run is compared.",
    lower_bound=0.0,
)
_SEED = flags.DEFINE_integer("seed", 1, "Of the moments.")


def main(_) -> None:
    """Prints the numbers of kills and runs and the largest difference as JSON."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["keras", "tensorflow"])
    folder, rng = Path(_FOLDER.value), random.Random(_SEED.value)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):  # What is finished there could not be killed.
        raise UserError(f"--folder={folder}: is not empty")
    config = _config(folder)
    figures = {}
    for name, run, read in (
        ("training", train_small, read_run),
        ("distillation", distill_small, read_files),
    ):
        if name not in _WHAT.value and name != "training":
            continue
        whole, start = folder / name, time.monotonic()
        run_until_killed(run, (config, whole), None)
        seconds = time.monotonic() - start
        logging.info("%s: %.0f s undisturbed", name, seconds)
        if name not in _WHAT.value:
            continue
        figures[name] = {"kills": _KILLS.value}
        if _TOLERANCE.value:
            again = folder / f"{name}_again"
            run_until_killed(run, (config, again), None)
            figures[name]["undisturbed_difference"] = compare(
                read(whole), read(again), again, float("inf")
            )
        figures[name] |= kill_and_compare(
            *(run, config, whole, read, _KILLS.value, rng, seconds / 4),
            _TOLERANCE.value,
        )._asdict()
    print(json.dumps(figures))


def _config(folder: Path) -> ml_collections.ConfigDict:
    sizes = ["--train_pairs=8000", "--other_pairs=50"]
    toy_corpus.main([f"--output_dir={folder}", *sizes])
    config = toy.get_config("teacher")
    config.data.train = f"files:{folder}/train.en,{folder}/train.de"
    config.data.dev = f"files:{folder}/dev.en,{folder}/dev.de"
    config.data.subword_model = str(folder / "subword.model")
    corpus = open_corpus(config.data.train)
    sentences = (side for pair in corpus for side in pair)
    train_subword_model(sentences, config.data.subword_model, 800, "bpe")
    config.model.update(model_dim=32, feed_forward_dim=64, dropout=0.1)
    config.data.tokens_per_batch = 256
    config.training.update(max_steps=80, checkpoint_every=2, log_every=50)
    config.training.jit_compile = _JIT_COMPILE.value
    config.evaluation.update(every=8, bleu_sentences=0, select_by="token_loss")
    return config


def train_small(config: ml_collections.ConfigDict, output: Path) -> None:
    """Trains the teacher."""
    train(config, output)


def distill_small(config: ml_collections.ConfigDict, output: Path) -> None:
    """Distills by the teacher that was trained undisturbed."""
    teacher = output.with_name("training") / "model"
    distill(config, teacher, output, beam_size=1, batch_size=32)


if __name__ == "__main__":
    cli.run(main)
