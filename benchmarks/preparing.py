r"""Measures what a corpus of millions of pairs costs before the first update.

The corpus is made of the toy corpus's sentences, joined until they reach a number of
words that is drawn from the lines of a text (without one, from a log-normal
distribution with the mean of WMT14). Printed are the rate and the memory of
preparing it, the seconds until the first batch of the prepared corpus, at its start
and in the middle of an epoch, and the share of padding.

Example:
  python -m benchmarks.preparing --pairs=4500000 --folder=/tmp/large
"""

import itertools
import json
import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.data.batching import TrainingBatches
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.prepared import PreparedCorpus, prepare_corpus
from cmlm_tf.data.subwords import SubwordModel, train_subword_model
from cmlm_tf.data.text_files import read_lines
from examples import toy_corpus

_PAIRS = flags.DEFINE_integer("pairs", 4_500_000, "Sentence pairs.")
_FOLDER = flags.DEFINE_string("folder", None, "For the corpus.", required=True)
_LENGTHS = flags.DEFINE_string("lengths", None, "Text whose line lengths to use.")
_VOCAB_SIZE = flags.DEFINE_integer("vocab_size", 8000, "Subwords.")

_SENTENCES = 100_000
_MEAN_WORDS, _SPREAD = 23.0, 0.6  # of a line; of the lengths' logarithms
_MAX_LENGTH = 256
_ROW_LENGTHS, _TOKENS_PER_BATCH = (64, 256), 32_768


def main(_) -> None:
    """Prints the figures as JSON."""
    folder = Path(_FOLDER.value)
    folder.mkdir(parents=True, exist_ok=True)
    source, target = folder / "train.en", folder / "train.de"
    if not target.exists():
        _write_corpus(source, target)
    figures: dict[str, float] = {"pairs": _PAIRS.value}
    prepared = _prepare(f"files:{source},{target}", folder, figures)
    _first_batches(prepared, figures)
    figures["largest_memory_mb"] = _memory_mb()
    print(json.dumps(figures))


def _write_corpus(source: Path, target: Path) -> None:
    rng = random.Random(1)
    toy = source.parent / "toy"
    toy_corpus.main([f"--output_dir={toy}", f"--train_pairs={_SENTENCES}"])
    sentences = list(open_corpus(f"files:{toy}/train.en,{toy}/train.de"))
    lengths = _lengths(rng)
    with open(source, "w") as first, open(target, "w") as second:
        for length in itertools.islice(lengths, _PAIRS.value):
            pairs, words = [], 0
            while words < length:
                pairs.append(rng.choice(sentences))
                words += pairs[-1][0].count(" ") + 1
            first.write(" ".join(pair[0] for pair in pairs) + "\n")
            second.write(" ".join(pair[1] for pair in pairs) + "\n")


def _lengths(rng: random.Random) -> Iterator[int]:
    if _LENGTHS.value is None:
        middle = np.log(_MEAN_WORDS) - _SPREAD**2 / 2
        while True:
            yield max(round(rng.lognormvariate(middle, _SPREAD)), 1)
    lengths = [line.count(" ") + 1 for line in read_lines(_LENGTHS.value)]
    while True:
        yield rng.choice(lengths)


def _prepare(spec: str, folder: Path, figures: dict[str, float]) -> PreparedCorpus:
    model = folder / "subword.model"
    corpus = open_corpus(spec)
    if not model.exists():
        pairs = itertools.islice(corpus, _SENTENCES)
        sides = (side for pair in pairs for side in pair)
        train_subword_model(sides, model, _VOCAB_SIZE.value, "bpe")
    subwords = SubwordModel(model)
    before, start = _memory_mb(), time.monotonic()
    prepared = prepare_corpus(corpus, subwords, folder / "data", max_length=_MAX_LENGTH)
    seconds = time.monotonic() - start
    figures |= {
        "memory_before_mb": before,
        "memory_after_preparing_mb": _memory_mb(),
        "preparing_seconds": seconds,
        "preparing_cpu_seconds": _cpu_seconds(),
        "pairs_per_second": _PAIRS.value / seconds,
    }
    return prepared


def _first_batches(prepared: PreparedCorpus, figures: dict[str, float]) -> None:
    start = time.monotonic()
    prepared = PreparedCorpus(prepared.folder)
    figures["open_and_check_seconds"] = time.monotonic() - start
    start = time.monotonic()
    batches = TrainingBatches(prepared, _ROW_LENGTHS, _TOKENS_PER_BATCH, 1, False)
    next(iter(batches.dataset()))
    figures["first_batch_seconds"] = time.monotonic() - start
    start = time.monotonic()
    next(iter(batches.dataset(int(batches.steps_per_epoch * 2.5))))
    figures["first_batch_in_mid_epoch_seconds"] = time.monotonic() - start
    figures["padding"] = batches.padding_waste


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    cli.run(main)
