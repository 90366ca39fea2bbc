"""What the decoding benchmark compares, from subword ids to those of translations."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import keras
import tensorflow as tf

from benchmarks.timing import Measurement
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.errors import UserError, needs_extra
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.model_dir import ROLES, LoadedModel
from cmlm_tf.modeling.teacher import AutoregressiveTransformer
from cmlm_tf.special_ids import EOS_ID
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from cmlm_tf.translate.student import StudentTranslator
from cmlm_tf.translate.teacher import TeacherTranslator

#: Systems that the others are compared with.
_BASELINES = ("teacher beam 5", "ct2 float32 beam 5", "ct2 float16 beam 5")


@dataclasses.dataclass(frozen=True)
class Batch:
    """Sentences that are decoded together.

    Attributes:
        sources: subword ids without EOS.
        lengths: reference lengths, or None for the systems' own lengths.
    """

    sources: Sequence[Sequence[int]]
    lengths: Sequence[int] | None


System = Callable[[Batch], list[Sequence[int]]]


def student_system(translator: StudentTranslator, options: UnmaskingOptions) -> System:
    """Returns the student at one setting."""

    def run(batch: Batch) -> list[Sequence[int]]:
        result = translator.decode_batch(batch.sources, options, batch.lengths)
        best = list(enumerate(result.best[: len(batch.sources)]))
        return [result.token_ids[i][: result.lengths[i]] for i in best]

    return run


def teacher_system(translator: TeacherTranslator, beam_size: int) -> System:
    """Returns the teacher's own search."""
    options = BeamOptions(beam_size, length_penalty=0.0)

    def run(batch: Batch) -> list[Sequence[int]]:
        result = translator.decode_batch(batch.sources, options, batch.lengths)
        rows = range(len(batch.sources))
        return [result.token_ids[row, : result.lengths[row]] for row in rows]

    return run


def check_compute_types(names: Sequence[str], device: str) -> None:
    """Raises a `UserError` for a type that CTranslate2 cannot compute in here."""
    with needs_extra("benchmark"):
        import ctranslate2
    known = ctranslate2.get_supported_compute_types(device)
    for name in names:
        if name not in known:
            raise UserError(
                f"--ctranslate2: {name!r} is not among {', '.join(sorted(known))}, "
                f"its compute types on this {device}"
            )


def ctranslate2_system(
    teacher: AutoregressiveTransformer,
    folder: Path,
    compute_type: str,
    beam_size: int,
    device: str,
    threads: int,
) -> System:
    """Returns CTranslate2 with the teacher's weights."""
    import ctranslate2

    from benchmarks.ctranslate2_model import convert, subword_id, token

    if not folder.exists():
        convert(teacher, folder)
    engine = ctranslate2.Translator(
        str(folder),
        device=device,
        compute_type=compute_type,
        inter_threads=1,
        intra_threads=threads,
    )

    def run(batch: Batch) -> list[Sequence[int]]:
        room = teacher.config.max_length
        longest = room if batch.lengths is None else max(batch.lengths)
        results = engine.translate_batch(
            [[token(i) for i in ids] for ids in batch.sources],
            beam_size=beam_size,
            length_penalty=0.0,
            max_decoding_length=longest,
        )
        return [[subword_id(name) for name in r.hypotheses[0]] for r in results]

    return run


def random_model(
    role: str, sizes: TransformerConfig, subword_path: Path
) -> LoadedModel:
    """Returns a model of random weights that never ends a sentence by itself.

    With reference lengths it does the work of a trained model; its translations
    mean nothing.
    """
    keras.utils.set_random_seed(1)
    model = ROLES[role](sizes)
    table = model.embedding.table
    # A logit of zero is never among the best of a whole vocabulary.
    table.assign(
        tf.tensor_scatter_nd_update(table.value, [[EOS_ID]], [table[EOS_ID] * 0])
    )
    sha256 = SubwordModel(subword_path).sha256
    return LoadedModel(role, model, subword_path, sha256, "en", "de")


def baselines_of(
    system: str, measured: Mapping[str, Measurement]
) -> dict[str, Measurement]:
    """Returns what a system is compared with: of its own kind, compiled or not."""
    kinds = ("", " xla") if system.endswith(" xla") else (" xla", "")
    return {
        name: measured[name + kind]
        for name in _BASELINES
        for kind in kinds
        if name + kind in measured
    }
