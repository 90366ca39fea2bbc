"""The whole pipeline on the embedded grammar, ending in the quality-speed table."""

import dataclasses
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import ml_collections
from absl import logging

from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.subwords import train_subword_model
from cmlm_tf.evaluation.table import format_table
from cmlm_tf.evaluation.trade_off import measure_trade_off, write_trade_off
from cmlm_tf.training.distillation import distill
from cmlm_tf.training.trainer import train
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.translator import Translator

#: Four settings of each heuristic, from slow to fast.
SETTINGS = {
    "mask_predict": (10, 5, 3, 1),
    "fixed_k": (1, 2, 4, 6),
    "thresh": (0.9, 0.5, 0.2, 0.05),
    "comb_thresh": (0.9, 0.5, 0.1, 0.01),
    "fcomb_thresh": (0.9, 0.5, 0.1, 0.01),
}
VOCAB_SIZE = 3000
NUM_EXAMPLES = 5
#: Many, as the models are tiny.
SENTENCES_PER_BATCH = 256


def run_tutorial(
    teacher_config: ml_collections.ConfigDict,
    student_config: ml_collections.ConfigDict,
    output_dir: str | Path,
    test: str = "grammar:test?size=500",
) -> str:
    """Trains subword model, teacher and student and decodes with every heuristic.

    Whatever an earlier run finished in `output_dir` is used again.

    Args:
        teacher_config: as configs/grammar.py gives it.
        student_config: likewise; both are completed with paths.
        output_dir: gets the models, `table.json`, `table.md` and the plots.
        test: the corpus to decode.

    Returns:
        The table as text.
    """
    folder = Path(output_dir)
    start = time.monotonic()
    subwords = folder / "subword.model"
    if not subwords.exists():
        corpus = open_corpus(teacher_config.data.train)
        sentences = (side for pair in corpus for side in pair)
        train_subword_model(sentences, subwords, VOCAB_SIZE, "bpe")
    for config in (teacher_config, student_config):
        config.data.subword_model = str(subwords)
    teacher_dir = train(teacher_config, folder / "teacher")
    student_config.data.train = distill(
        teacher_config,
        teacher_dir,
        folder / "distilled",
        batch_size=SENTENCES_PER_BATCH,
    )
    student_config.student.teacher_dir = str(teacher_dir)
    student_dir = train(student_config, folder / "student")
    logging.info("trained in %.0f s", time.monotonic() - start)
    return _measure(teacher_dir, student_dir, test, folder)


def _measure(teacher_dir: Path, student_dir: Path, test: str, folder: Path) -> str:
    sources, references = zip(*open_corpus(test), strict=True)
    teacher, student = (
        load_translator(model_dir, sentences_per_batch=SENTENCES_PER_BATCH)
        for model_dir in (teacher_dir, student_dir)
    )
    rows = measure_trade_off(teacher, student, sources, references, SETTINGS)
    write_trade_off(rows, test, folder)
    _show_examples(student, sources, references)
    return format_table([dataclasses.replace(row, chrf=None) for row in rows])


def _show_examples(
    student: Translator, sources: Sequence[str], references: Sequence[str]
) -> None:
    translations = student.translate(sources[:NUM_EXAMPLES])
    for source, reference, translation in zip(
        sources, references, translations, strict=False
    ):
        print(
            f"\nsource     {source}\nreference  {reference}\n"
            f"student    {translation.text}   "
            f"({translation.num_tokens} subwords in {translation.iterations} passes)",
            file=sys.stderr,
        )
