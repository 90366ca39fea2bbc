"""Every command tells what it does, without any extra, and pip installs it."""

import ast
import configparser
from pathlib import Path

import pytest

from tests.commands import ROOT, run_command

_EXTRAS = ("apache_beam", "ctranslate2", "grpc", "sacremoses", "tensorflow_serving")
_MODULES = {
    path.stem: path
    for path in sorted((ROOT / "cmlm_tf" / "commands").glob("*.py"))
    if "\n@cli.command\n" in path.read_text("utf-8")
}
_BENCHMARKS = {
    f"benchmarks/{path.name}": path
    for path in sorted((ROOT / "benchmarks").glob("*.py"))
    if '__name__ == "__main__"' in path.read_text("utf-8")
}
_COMMANDS = {f"bin/{name}.py": path for name, path in _MODULES.items()} | _BENCHMARKS


@pytest.mark.parametrize("command", _COMMANDS)
def test_help_is_what_the_command_says_of_itself(command):
    result = run_command(command, "--help", missing=_EXTRAS)
    about = ast.get_docstring(ast.parse(_COMMANDS[command].read_text("utf-8")))
    assert result.returncode == 0, result.stderr
    assert about.splitlines()[0] in result.stdout
    if "flags.DEFINE" in _COMMANDS[command].read_text("utf-8"):
        assert f"\n{Path(command).name}:\n  --" in result.stdout


def test_every_command_is_installed_and_has_a_launcher():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    scripts = setup["options.entry_points"]["console_scripts"].split("\n")
    targets = sorted(line.split(" = ")[1] for line in scripts if line)
    assert targets == [f"cmlm_tf.commands.{name}:run" for name in _MODULES]
    assert sorted(path.stem for path in (ROOT / "bin").glob("*.py")) == [*_MODULES]
