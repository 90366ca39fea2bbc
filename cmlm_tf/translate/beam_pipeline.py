"""Translates sharded files as an Apache Beam pipeline, on one machine or many.

Every input file is a shard. Its lines are read in blocks, the blocks are spread
over the workers, and what a worker translated goes back to its shard, where line
numbers restore the order. So each output file has a line for each line of its
input file, and the output files in the order of their names are the translation
of the input files in theirs. It needs the extra `beam`.
"""

import itertools
import shlex
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions, SetupOptions
from apache_beam.utils.shared import Shared

from cmlm_tf.data.text_files import decode_line, one_line
from cmlm_tf.errors import UserError
from cmlm_tf.translate.calibration import model_files
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.utils.overwriting import refuse_overwriting

#: Lines of a block: enough to sort them into batches of like length.
LINES_PER_BLOCK = 4096


class Shard(NamedTuple):
    """An input file and the output file that belongs to it."""

    source: str
    target: str


class Block(NamedTuple):
    """Consecutive lines of a shard; `number` counts the blocks before it."""

    number: int
    lines: list[str]


class TranslateBlocks(beam.DoFn):
    """Translates blocks; the workers of a process share one model."""

    def __init__(self, model_dir: str, options: Any, settings: dict[str, Any]):
        """Takes what a worker needs to load the model; see `translate_shards`."""
        self._model_dir, self._options, self._settings = model_dir, options, settings
        self._shared = Shared()

    def setup(self) -> None:
        """Loads the model, unless another thread of the process has."""
        self._translator = self._shared.acquire(
            lambda: load_translator(self._model_dir, **self._settings)
        )

    def process(self, element: tuple[Shard, Block]) -> Iterator[tuple[Shard, Block]]:
        """Yields the same shard and block number with the translations."""
        shard, block = element
        translations = self._translator.translate(block.lines, self._options)
        yield shard, Block(block.number, [one_line(t.text) for t in translations])


def read_blocks(shard: Shard, size: int) -> Iterator[tuple[Shard, Block]]:
    """Yields the lines of a shard in blocks; an empty shard has one empty block."""
    with FileSystems.open(shard.source) as file:
        raw = iter(file.readline, b"")
        lines = (decode_line(line, "surrogateescape") for line in raw)
        for number in itertools.count():
            block = list(itertools.islice(lines, size))
            if not block and number:
                return
            yield shard, Block(number, block)


def write_shard(element: tuple[Shard, Iterable[Block]]) -> str:
    """Writes the blocks of a shard in order; returns the path.

    The file appears whole: it is written under another name and renamed.
    """
    shard, blocks = element
    temporary = f"{shard.target}.partial"
    with FileSystems.create(temporary) as file:
        for block in sorted(blocks, key=lambda block: block.number):
            file.write("".join(f"{line}\n" for line in block.lines).encode())
    if FileSystems.exists(shard.target):
        FileSystems.delete([shard.target])
    FileSystems.rename([temporary], [shard.target])
    return shard.target


def find_shards(pattern: str, output: str) -> list[Shard]:
    """Finds the input files and names the output files.

    Args:
        pattern: a file, or a glob pattern in any file system that Beam knows.
        output: what the names of the output files begin with.

    Raises:
        UserError: no file matches.
    """
    (match,) = FileSystems.match([pattern])
    paths = sorted(metadata.path for metadata in match.metadata_list)
    if not paths:
        raise UserError(f"{pattern}: no such file")
    count = len(paths)
    return [
        Shard(path, f"{output}-{i:05}-of-{count:05}") for i, path in enumerate(paths)
    ]


def translate_shards(
    pattern: str,
    output: str,
    model_dir: str,
    options: Any,
    *,
    beam_options: str = "",
    block_size: int = LINES_PER_BLOCK,
    **settings: Any,
) -> list[str]:
    """Translates all files that match a pattern.

    Args:
        pattern: a file or a glob pattern.
        output: what the names of the output files begin with.
        model_dir: a folder that every worker can read.
        options: `UnmaskingOptions` or `BeamOptions`.
        beam_options: flags of Beam in one string, such as
            `--runner=FlinkRunner --flink_master=host:8081`.
        block_size: lines translated together.
        **settings: for `load_translator`.

    Returns:
        The output files, in the order of the input files.

    Raises:
        UserError: no file matches, an output would overwrite an input or the model, or
            Beam does not take its options.
    """
    shards = find_shards(pattern, output)
    refuse_overwriting(
        {f"the output of {shard.source}": shard.target for shard in shards},
        {
            **{f"the input {shard.source}": shard.source for shard in shards},
            **model_files(model_dir),
        },
    )
    with _pipeline(beam_options) as pipeline:
        _ = (
            pipeline
            | "Shards" >> beam.Create(shards)
            | "Spread shards" >> beam.Reshuffle()
            | "Read" >> beam.FlatMap(read_blocks, block_size)
            | "Spread blocks" >> beam.Reshuffle()
            | "Translate" >> beam.ParDo(TranslateBlocks(model_dir, options, settings))
            | "Collect" >> beam.GroupByKey()
            | "Write" >> beam.Map(write_shard)
        )
    return [shard.target for shard in shards]


def _pipeline(beam_options: str) -> beam.Pipeline:
    try:
        options = PipelineOptions(shlex.split(beam_options))
        options.view_as(SetupOptions).save_main_session = False
        return beam.Pipeline(options=options)
    except ValueError as error:
        raise UserError(f"beam_options {beam_options}: {error}") from error
