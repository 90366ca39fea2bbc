r"""Checks that CTranslate2 with a teacher's weights finds what the own search finds.

Both search with the same beam and no length penalty; their rules for when to stop
differ, so that a few sentences may too.

Example:
  python -m benchmarks.agreement --teacher_dir=teacher/model --input=test.en
"""

import tempfile
from pathlib import Path

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.data.text_files import read_lines
from cmlm_tf.errors import needs_extra
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import BeamOptions

_TEACHER_DIR = flags.DEFINE_string("teacher_dir", None, "A teacher.", required=True)
_INPUT = flags.DEFINE_string("input", None, "Source lines.", required=True)
_BEAM_SIZE = flags.DEFINE_integer("beam_size", 5, "Hypotheses of a sentence.")
_COMPUTE_TYPES = flags.DEFINE_list("compute_types", ["float32", "int8"], "To check.")


def main(_) -> None:
    """Prints how many sentences have the same subwords."""
    with needs_extra("benchmark"):
        import ctranslate2

        from benchmarks.ctranslate2_model import convert, token
    teacher = load_translator(_TEACHER_DIR.value, role="teacher")
    sources = teacher.subwords.encode(list(read_lines(_INPUT.value)))
    sources = [ids for ids in sources if 0 < len(ids) < teacher.model.config.max_length]
    options = BeamOptions(_BEAM_SIZE.value, length_penalty=0.0)
    ours = [
        candidates[0].tokens
        for start in range(0, len(sources), 50)
        for candidates in teacher.decode_ids(sources[start : start + 50], options)
    ]
    with tempfile.TemporaryDirectory() as folder:
        convert(teacher.model, Path(folder) / "model")
        for compute_type in _COMPUTE_TYPES.value:
            engine = ctranslate2.Translator(
                str(Path(folder) / "model"), compute_type=compute_type
            )
            results = engine.translate_batch(
                [[token(i) for i in ids] for ids in sources],
                beam_size=_BEAM_SIZE.value,
                length_penalty=0.0,
                max_decoding_length=teacher.model.config.max_length - 1,
                max_batch_size=50,
            )
            same = sum(
                [token(i) for i in ids] == result.hypotheses[0]
                for ids, result in zip(ours, results, strict=True)
            )
            print(f"{compute_type}: {same} of {len(sources)} the same")


if __name__ == "__main__":
    cli.run(main)
