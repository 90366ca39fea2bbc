"""Checks the documents: links lead somewhere, commands and flags exist.

docs/commands.md, the list of all flags, is made from the commands.

Examples:
  python docs/check.py
  python docs/check.py --write
"""

import ast
import configparser
import importlib
import importlib.util
import multiprocessing
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from absl import flags

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_NAMED_FILE = re.compile(
    r"`((?:bin|docs|configs|cmlm_tf|benchmarks|examples|tests)/[^`\s*:]+)[^`]*`"
)
_COMMAND = re.compile(
    r"(?<![\w/-])(cmlm-[\w-]+|bin/\w+\.py|benchmarks(?:/[\w/]+\.py|(?:\.\w+)+))"
    r"((?:\\\n|[^\n`])*)"
)
_FLAG = re.compile(r"(?<![\w-])--(?:no)?(\w+)(?=[=\s]|$)")
#: Flags of absl, which every command takes.
_COMMON_FLAGS = {"help", "helpfull", "flagfile", "verbosity"}


def faults_of(document: Path) -> Iterator[tuple[int, str]]:
    """Yields the lines of a document's faults and what is wrong."""
    text = document.read_text(encoding="utf-8")
    for number, line in enumerate(text.split("\n"), start=1):
        links = (link.split("#")[0] for link in _LINK.findall(line) if ":" not in link)
        paths = [document.parent / link for link in links]
        paths += [ROOT / name for name in _NAMED_FILE.findall(line)]
        yield from ((number, f"no file {path}") for path in paths if not path.exists())
    for match in _COMMAND.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        yield from ((number, fault) for fault in _faults_of_command(*match.groups()))


def _faults_of_command(command: str, arguments: str) -> Iterator[str]:
    module = _module_of(command)
    if module is None:
        yield f"no command {command}"
        return
    known = _COMMON_FLAGS.union(flags_of(module))
    # What stands in quotes is for another program.
    for flag in _FLAG.findall(re.sub(r"'[^']*'", "", arguments)):
        if flag not in known and f"no{flag}" not in known:
            yield f"{command} has no flag --{flag}"


@cache
def installed_commands() -> dict[str, str]:
    """Returns the module of each command that pip installs."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = setup["options.entry_points"]["console_scripts"].strip().splitlines()
    return dict(line.removesuffix(":run").split(" = ") for line in sorted(lines))


def _module_of(command: str) -> str | None:
    """Returns the module that a command runs, None if there is no such command."""
    if command.startswith("cmlm-"):
        return installed_commands().get(command)
    module = command.removesuffix(".py").replace("/", ".")
    found = importlib.util.find_spec(module)
    if found and found.submodule_search_locations:  # as Python's -m has it
        module += ".__main__"
    return module.replace("bin.", "cmlm_tf.commands.") if found else None


@cache
def flags_of(module: str) -> dict[str, tuple[str, str]]:
    """Returns default and help of each flag of a command, as its --help does."""
    # In a process of its own, as commands define the same flags.
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(_defined, [module])


def _defined(module: str) -> dict[str, tuple[str, str]]:
    importlib.import_module(module)
    found = flags.FLAGS.get_key_flags_for_module(module)
    shown = {}
    for flag in sorted(found, key=lambda flag: flag.name):
        default = (flag.default_as_str or "").strip("'").replace(f"{ROOT}/", "")
        text = re.sub("<(.*?)>:", r"\1:", " ".join(flag.help.split()))
        shown[flag.name] = default, text
    return shown


def commands_page() -> str:
    """Returns docs/commands.md: the flags of every command."""
    lines = ["# Commands and their flags", ""]
    lines += ["Made by `docs/check.py --write`; `--help` says the same.", ""]
    for command, module in installed_commands().items():
        code = (ROOT / module.replace(".", "/")).with_suffix(".py").read_text("utf-8")
        summary = (ast.get_docstring(ast.parse(code)) or "").split("\n")[0]
        lines += [f"## `{command}`", "", summary, ""]
        lines += ["| flag | default | what |", "|:--|:--|:--|"]
        for name, (default, text) in flags_of(module).items():
            default = default and f"`{default}`"
            lines.append(f"| `--{name}` | {default} | {text.replace('|', ', ')} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Prints faults and exits with 1 if there are any; --write makes commands.md."""
    sys.path.insert(0, str(ROOT))
    importlib.import_module("tensorflow")  # Once, for all commands.
    page = ROOT / "docs" / "commands.md"
    if sys.argv[1:] == ["--write"]:
        page.write_text(commands_page(), encoding="utf-8")
    folders = (ROOT, ROOT / "docs", ROOT / "results")
    documents = sorted(path for folder in folders for path in folder.glob("*.md"))
    faults = [
        f"{document.relative_to(ROOT)}, line {number}: {fault}"
        for document in documents
        for number, fault in faults_of(document)
    ]
    if page.read_text(encoding="utf-8") != commands_page():
        faults.append("docs/commands.md is old: python docs/check.py --write")
    print("\n".join(faults) or f"{len(documents)} documents are right")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
