r"""Trains on disks too small for it, and on one that cannot be written (root, Linux).

A run on a small file system in memory must end in one clear line, leave nothing
half-written and keep what it had; with more room the same command goes on. Exits
with 1 if anything else happens.

Example:
  python -m benchmarks.full_disk
"""

import subprocess
import tempfile
from pathlib import Path

import ml_collections

from cmlm_tf.commands import cli
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import load_model
from cmlm_tf.training.trainer import train
from tests.training.small_run import small_config

#: The last one has room for all.
_SIZES = ("40k", "300k", "420k", "560k", "800k", "1300k", "40m")


def main(_) -> None:
    """Tries every size in turn, each with what the one before left."""
    with tempfile.TemporaryDirectory() as folder:
        config, disk = small_config(Path(folder)), Path(folder) / "disk"
        disk.mkdir()
        _run("mount", "-t", "tmpfs", "-o", f"size={_SIZES[0]}", "tmpfs", disk)
        try:
            for size in _SIZES:
                _run("mount", "-o", f"remount,size={size}", disk)
                error = _try(config, disk / "run")
                _check(disk / "run", size, error, finished=size == _SIZES[-1])
            _run("mount", "-o", "remount,ro", disk)
            if not _try(config, disk / "other"):
                raise UserError("a disk that cannot be written raised no error")
        finally:
            _run("umount", "--lazy", disk)  # Logs may be open.


def _try(config: ml_collections.ConfigDict, output: Path) -> str | None:
    """Trains and returns the error's line, if any; other errors pass."""
    try:
        train(config, output)
    except UserError as error:
        return str(error)
    return None


def _check(run: Path, size: str, error: str | None, finished: bool) -> None:
    """Raises unless a run left whole files and the error that it should."""
    print(f"{size}: {error or 'trained'}")
    if finished == bool(error):
        raise UserError(f"{size}: {'an error' if error else 'no error'}")
    if error and "\n" in error:
        raise UserError(f"{size}: the error has several lines")
    leftovers = [path for path in run.rglob(".*") if path.is_file()]
    if leftovers:
        raise UserError(f"{size}: left {leftovers[0]}")
    if (run / "model").exists():
        load_model(run / "model")


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    cli.run(main)
