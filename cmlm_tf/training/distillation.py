"""Sequence-level distillation: the training side in the teacher's words.

Kim & Rush (2016); Kreutzer et al. (2020), section 4, train the student on it.
The result is line-aligned with its source. While the work goes on it lies in
`OUTPUT_DIR.partial`, in whole chunks, beside a journal that says how many bytes
of each file are good; the folder gets its final name when all is done.
"""

import functools
import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_collections
from absl import logging

import cmlm_tf
from cmlm_tf.data.corpora import Corpus, open_corpus
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import read_description
from cmlm_tf.training.config import validate_config
from cmlm_tf.training.journal import (
    FILES,
    JOURNAL_FILE,
    MANIFEST_FILE,
    Journal,
    check_settings,
    hash_lines,
    reading_hashed,
    write_hashed,
)
from cmlm_tf.training.run_folder import exclusive_folder
from cmlm_tf.translate.loading import Translator, load_translator
from cmlm_tf.translate.options import BeamOptions
from cmlm_tf.utils.files import check_sha256
from cmlm_tf.utils.progress import Progress

_CHUNK = 2000
#: Batches of a chunk, at the least: a chunk's lines are sorted by length.
_BATCHES_PER_CHUNK = 40


def distill(
    config: ml_collections.ConfigDict,
    teacher_dir: str | Path,
    output_dir: str | Path,
    *,
    beam_size: int = 5,
    length_penalty: float = 0.6,
    batch_size: int = 64,
    dtype: str = "float32",
    xla: bool | None = None,
) -> str:
    """Translates a config's training corpus by a teacher's beam search.

    Args:
        config: as the files in configs/ return it.
        teacher_dir: model directory of the teacher.
        output_dir: appears when all lines are translated; without a comma.
        beam_size: hypotheses per sentence.
        length_penalty: exponent of the length penalty of Wu et al. (2016).
        batch_size: sentences translated side by side.
        dtype: `float32` or `bfloat16`.
        xla: as for `Translator`.

    Returns:
        The description of the distilled corpus.

    Raises:
        UserError: a fault in config, corpus or teacher, or a result of other
            settings in `output_dir`.
    """
    validate_config(config)
    if "," in str(output_dir):
        raise UserError(f"{output_dir}: a comma would divide the corpus's description")
    options = BeamOptions(beam_size, length_penalty)
    corpus = open_corpus(config.data.train)
    teacher = read_description(teacher_dir, "teacher")
    settings = {
        "teacher_weights_sha256": teacher["weights_sha256"],
        "teacher_subword_sha256": teacher["subword_sha256"],
        "beam_size": beam_size,
        "length_penalty": length_penalty,
        "package_version": cmlm_tf.__version__,
        "batch_size": batch_size,
        "dtype": dtype,
    }

    @functools.cache
    def load_teacher() -> Translator:
        return load_translator(
            teacher_dir, dtype, sentences_per_batch=batch_size, xla=xla
        )

    def translate(lines: Sequence[str]) -> list[str]:
        different = list(dict.fromkeys(lines))
        translations = load_teacher().translate(different, options)
        found = dict(zip(different, translations, strict=True))
        return [found[line].text for line in lines]

    folder = Path(output_dir)
    chunk_size = max(_CHUNK, _BATCHES_PER_CHUNK * batch_size)
    distill_corpus(corpus, translate, folder, settings, chunk_size)
    return "files:" + ",".join(str(folder / name) for name in FILES)


def distill_corpus(
    corpus: Corpus,
    translate_fn: Callable[[Sequence[str]], list[str]],
    output_dir: Path,
    settings: dict[str, Any],
    chunk_size: int = _CHUNK,
) -> None:
    """Translates the source side, or goes on with a run that was stopped.

    Args:
        corpus: read from its start in every run.
        translate_fn: translates lines, one for each.
        output_dir: gets `source.txt`, `target.txt` and `manifest.json`.
        settings: JSON values by name, what the result depends on beside the corpus.
        chunk_size: lines translated between two entries in the journal.

    Raises:
        UserError: there is a result or a part of one, with other settings; or the
            corpus was changed meanwhile; or the folder's name is none.
    """
    if output_dir.name in ("", ".."):
        raise UserError(f"{output_dir}: no name of a folder to make")
    settings = {"corpus_fingerprint": corpus.fingerprint()} | settings
    if os.path.lexists(output_dir):
        _check_finished(output_dir, settings)
        logging.info("%s: finished before", output_dir)
        return
    total = corpus.check()
    partial = output_dir.with_name(output_dir.name + ".partial")
    with exclusive_folder(partial):
        journal = Journal(partial, settings)
        lines = (source for source, _ in corpus)
        rest = itertools.islice(lines, journal.num_lines, None)
        counter = Progress(total, "lines", "distilling", done=journal.num_lines)
        while chunk := list(itertools.islice(rest, chunk_size)):
            journal.append(chunk, translate_fn(chunk))
            counter.advance(len(chunk))
        counter.close()
        _check_unchanged(corpus, partial, journal)
        _finish(partial, journal, corpus.name, output_dir)


def _check_unchanged(corpus: Corpus, partial: Path, journal: Journal) -> None:
    """Checks that the corpus is what it was, and that all lines are its own."""
    if corpus.fingerprint() != journal.settings["corpus_fingerprint"]:
        raise UserError(
            f"{corpus.name}: changed while it was translated; bring back what it was, "
            f"or remove {partial} to start over"
        )
    source_file = FILES[0]
    if hash_lines(source for source, _ in corpus) != journal.sha256[source_file]:
        raise UserError(
            f"{partial / source_file}: holds other lines than {corpus.name}, which was "
            f"changed for a time; remove {partial} to start over"
        )


def _finish(partial: Path, journal: Journal, name: str, output_dir: Path) -> None:
    manifest = {
        "corpus": name,
        "num_lines": journal.num_lines,
        "settings": journal.settings,
        "sha256": journal.sha256,
    }
    write_hashed(partial / MANIFEST_FILE, manifest)
    # The journal goes last: without it a stopped run would start afresh.
    os.rename(partial, output_dir)
    (output_dir / JOURNAL_FILE).unlink()


def _check_finished(folder: Path, settings: dict[str, Any]) -> None:
    """Compares a result with what its manifest says."""
    path = folder / MANIFEST_FILE
    with reading_hashed(path) as manifest:
        check_settings(manifest["settings"], settings, folder)
        for name in FILES:
            check_sha256(folder / name, manifest["sha256"][name], path)
    (folder / JOURNAL_FILE).unlink(missing_ok=True)
