"""The Beam pipeline on the local runner: the lines of the single process."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cmlm_tf.errors import UserError
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from tests.hard_lines import LINES
from tests.tiny_models import model_dir

pytest.importorskip("apache_beam", reason="the extra `beam` is not installed")
from cmlm_tf.translate.beam_pipeline import (  # noqa: E402
    Block,
    Shard,
    find_shards,
    read_blocks,
    translate_shards,
    write_shard,
)

ROOT = Path(__file__).resolve().parents[2]
TEXT = [*LINES["line_ends"], *LINES["reserved"], *LINES["target_language"], "", "dog"]
LOCAL = "--runner=DirectRunner --direct_num_workers=2"


def write_shards(folder):
    """Writes three shards, one empty and one without a last line end."""
    parts = [TEXT[:17], [], TEXT[17:]]
    contents = ["\n".join([*part, ""]) if part else "" for part in parts]
    contents[2] = contents[2].removesuffix("\n")
    for name, content in zip("abc", contents, strict=True):
        (folder / f"in-{name}").write_bytes(content.encode())
    return parts


@pytest.mark.parametrize(
    ("role", "options"),
    [("student", UnmaskingOptions(length_beam=2)), ("teacher", BeamOptions(2))],
)
def test_equals_the_single_process(tmp_path, role, options):
    parts = write_shards(tmp_path)
    paths = translate_shards(
        f"{tmp_path}/in-*",
        f"{tmp_path}/out",
        str(model_dir(role)),
        options,
        beam_options=LOCAL,
        block_size=5,
    )
    assert [Path(path).name for path in paths] == [
        f"out-0000{i}-of-00003" for i in range(3)
    ]
    translator = load_translator(model_dir(role))
    for part, path in zip(parts, paths, strict=True):
        read = [line.removesuffix("\r") for line in part]
        texts = [t.text for t in translator.translate(read, options)]
        expected = [text.replace("\r", " ").replace("\n", " ") + "\n" for text in texts]
        assert Path(path).read_bytes().decode() == "".join(expected)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"in-a", "in-b", "in-c", *(Path(path).name for path in paths)}


def test_a_compressed_shard_and_a_result_that_was_there(tmp_path):
    with gzip.open(tmp_path / "in.gz", "wb") as file:
        file.write(b"a\r\nb\xff\nc")
    shard = Shard(str(tmp_path / "in.gz"), str(tmp_path / "out"))
    assert list(read_blocks(shard, 2)) == [
        (shard, Block(0, ["a", "b\udcff"])),
        (shard, Block(1, ["c"])),
    ]
    (tmp_path / "out").write_text("old\n")
    blocks = [Block(2, ["e"]), Block(0, ["a", "b"]), Block(1, ["c", "d"])]
    assert write_shard((shard, blocks)) == shard.target
    assert (tmp_path / "out").read_text() == "a\nb\nc\nd\ne\n"


def test_no_input(tmp_path):
    with pytest.raises(UserError, match="in-\\*: no such file"):
        find_shards(f"{tmp_path}/in-*", "out")


@pytest.mark.parametrize("name", ["in-00001-of-00003", "in-00000-of-00003"])
def test_inputs_and_model_are_not_overwritten(tmp_path, name):
    write_shards(tmp_path)
    (tmp_path / "in-b").rename(tmp_path / name)
    with pytest.raises(UserError, match=f"{name}: named for the output of .*/in-"):
        translate_shards(
            f"{tmp_path}/in-*", f"{tmp_path}/in", str(model_dir("student")), None
        )
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("beam_options", "reason"),
    [("'", "No closing quotation"), ("--runner=Fast", "Unexpected .* runner: Fast")],
)
def test_options_that_beam_does_not_take(tmp_path, beam_options, reason):
    write_shards(tmp_path)
    with pytest.raises(UserError, match=f"beam_options {beam_options}: {reason}"):
        translate_shards(
            *(f"{tmp_path}/in-*", f"{tmp_path}/out", str(model_dir("student")), None),
            beam_options=beam_options,
        )


def test_the_command(tmp_path):
    write_shards(tmp_path)
    command = [sys.executable, ROOT / "bin" / "beam_decode.py"]
    flags = [f"--model_dir={model_dir('student')}", f"--input={tmp_path}/in-a"]
    flags += [f"--output={tmp_path}/out", "--heuristic=fixed_k", "--length_beam=1"]
    flags += ["--beam_options="]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [*command, *flags], capture_output=True, env=environment, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{tmp_path}/out-00000-of-00001\n"
    assert (tmp_path / "out-00000-of-00001").read_text().count("\n") == 17
