r"""Kills training and distillation at random moments and compares what comes out.

A small teacher is trained on the grammar, undisturbed and again with `kill -9` at
random moments, start-up and saving included; likewise its distillation. A run that
ends before all kills were made is compared and begun anew. The weights, those of
the last checkpoint and those of the model directory, and the distilled files must
be equal to the last bit, and no temporary file may be left.

Example:
  python benchmarks/kills.py --kills=50 --folder=/tmp/kills
"""

import json
import multiprocessing
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_collections
import numpy as np
from absl import flags, logging

from cmlm_tf import cli
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.subwords import train_subword_model
from cmlm_tf.errors import UserError
from cmlm_tf.files import sha256_file
from cmlm_tf.modeling.model_dir import read_description
from cmlm_tf.training.distillation import distill
from cmlm_tf.training.trainer import train
from configs import grammar

_KILLS = flags.DEFINE_integer("kills", 50, "Kills of each of the two.", lower_bound=1)
_FOLDER = flags.DEFINE_string("folder", None, "An empty folder.", required=True)
_SEED = flags.DEFINE_integer("seed", 1, "Of the moments.")

#: One server imports TensorFlow; processes that are forked from it start at once.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["cmlm_tf.training.trainer", "cmlm_tf.training.distillation"]
)


def main(_) -> None:
    """Prints the number of kills and of runs as JSON."""
    folder, rng = Path(_FOLDER.value), random.Random(_SEED.value)
    folder.mkdir(parents=True, exist_ok=True)
    config = _config(folder)
    figures = {}
    for name, run, read in (
        ("training", train_small, read_run),
        ("distillation", distill_small, read_files),
    ):
        whole, start = folder / name, time.monotonic()
        run_until_killed(run, (config, whole), None)
        seconds = time.monotonic() - start
        logging.info("%s: %.0f s undisturbed", name, seconds)
        runs = kill_and_compare(
            run, config, whole, read, _KILLS.value, rng, seconds / 4
        )
        figures[name] = {"kills": _KILLS.value, "runs": runs, "all_equal": True}
    print(json.dumps(figures))


def kill_and_compare(
    run: Callable[[Any, Path], None],
    config: Any,
    whole: Path,
    read: Callable[[Path], dict[str, Any]],
    kills: int,
    rng: random.Random,
    longest: float,
) -> int:
    """Kills a run again and again; compares each that came to its end.

    Args:
        run: maps a config and an output folder to nothing.
        config: its first argument.
        whole: the output folder of an undisturbed run.
        read: maps an output folder to arrays and texts by name.
        kills: how many processes to kill.
        rng: draws the moments.
        longest: seconds after its start in which a process is killed.

    Returns:
        The number of runs that came to an end.

    Raises:
        UserError: something differs, a process failed, or a file was left over.
    """
    expected, runs, killed = read(whole), 0, 0
    output = whole.with_name(whole.name + "_killed")
    while killed < kills or not runs:
        seconds = rng.uniform(0, longest) if killed < kills else None
        if run_until_killed(run, (config, output), seconds):
            killed += 1
            logging.info("kill %d of %d", killed, kills)
            continue
        _compare(expected, read(output), output)
        _find_leftovers(output)
        runs += 1
        shutil.rmtree(output)
        if killed < kills:
            logging.info("%d kills, equal after run %d", killed, runs)
    return runs


def run_until_killed(run: Callable, args: tuple, seconds: float | None) -> bool:
    """Runs a function in its own process; returns whether it had to be killed."""
    process = _CONTEXT.Process(target=run, args=args)
    process.start()
    process.join(seconds)
    process.kill()  # Nothing happens if it has ended.
    process.join()
    if process.exitcode not in (0, -9):
        raise UserError(f"{args[-1]}: a process ended with {process.exitcode}")
    return process.exitcode != 0


def _compare(expected: dict[str, Any], found: dict[str, Any], output: Path) -> None:
    if expected.keys() != found.keys():
        raise UserError(f"{output}: other contents")
    for name, value in expected.items():
        if not np.array_equal(value, found[name]):
            raise UserError(f"{output}: {name} differs")


def _find_leftovers(output: Path) -> None:
    left = [p for p in output.rglob("*") if p.name.startswith(".")]
    if left:
        raise UserError(f"{output}: left over: {', '.join(p.name for p in left)}")


def _config(folder: Path) -> ml_collections.ConfigDict:
    config = grammar.get_config("teacher")
    config.data.train = "grammar:train?size=12000"
    config.data.dev = "grammar:dev?size=50"
    config.data.subword_model = str(folder / "subword.model")
    corpus = open_corpus(config.data.train)
    sentences = (side for pair in corpus for side in pair)
    train_subword_model(sentences, config.data.subword_model, 800, "bpe")
    config.model.update(model_dim=32, feed_forward_dim=64, dropout=0.1)
    config.training.update(max_steps=300, checkpoint_every=5, log_every=50)
    config.evaluation.update(every=25, bleu_sentences=0, select_by="loss")
    return config


def train_small(config: ml_collections.ConfigDict, output: Path) -> None:
    """Trains the teacher."""
    train(config, output)


def distill_small(config: ml_collections.ConfigDict, output: Path) -> None:
    """Distills by the teacher that was trained undisturbed."""
    teacher = output.with_name("training") / "model"
    distill(config, teacher, output, beam_size=1, batch_size=32)


def read_run(output: Path) -> dict[str, Any]:
    """Reads the last checkpoint and the hash of the model's weights."""
    with np.load(max((output / "checkpoint").glob("step_*.npz"))) as file:
        arrays = {name: file[name] for name in file.files if name != "meta"}
    return arrays | {"model": read_description(output / "model")["weights_sha256"]}


def read_files(output: Path) -> dict[str, Any]:
    """Reads the hashes of a distilled corpus."""
    return {path.name: sha256_file(path) for path in output.iterdir()}


if __name__ == "__main__":
    cli.run(main)
