"""Checks the documents: links lead somewhere, commands and flags exist.

docs/commands.md, the list of all flags, is made from the commands.

Examples:
  python docs/check.py
  python docs/check.py --write
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_NAMED_FILE = re.compile(r"`((?:bin|docs|configs|cmlm_tf|benchmarks|tests)/[^`\s*]+)`")
_COMMAND = re.compile(r"\b(bin/\w+\.py|benchmarks(?:/\w+\.py|\.\w+))((?:\\\n|[^\n`])*)")
_FLAG = re.compile(r"(?<![\w-])--(?:no)?(\w+)(?=[=\s]|$)")
#: Flags of absl and of config files, which every command takes.
_COMMON_FLAGS = {"help", "helpfull", "config", "flagfile", "verbosity"}


def documents() -> list[Path]:
    """Returns all documents."""
    return sorted(
        [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("results/*.md")]
    )


def faults_of(document: Path) -> Iterator[str]:
    """Yields what is wrong with a document, by its line."""
    text = document.read_text(encoding="utf-8")
    for number, line in enumerate(text.split("\n"), start=1):
        links = [a or b for a, b in _LINK.findall(line)]
        for link in links:
            if (
                not _is_elsewhere(link)
                and not (document.parent / link.split("#")[0]).exists()
            ):
                yield f"{number}: no file {link}"
        for name in _NAMED_FILE.findall(line):
            if not (ROOT / name.split(":")[0]).exists():
                yield f"{number}: no file {name}"
    for match in _COMMAND.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        yield from (
            f"{number}: {fault}" for fault in _faults_of_command(*match.groups())
        )


def _is_elsewhere(link: str) -> bool:
    return link.startswith(("http://", "https://", "mailto:", "#"))


def _faults_of_command(command: str, arguments: str) -> Iterator[str]:
    path = ROOT / command
    if command.startswith("benchmarks."):  # as Python's -m has it
        path = ROOT / f"{command.replace('.', '/')}.py"
        if path.with_suffix("").is_dir():
            path = path.with_suffix("") / "__main__.py"
    if not path.exists():
        yield f"no command {command}"
        return
    known = _COMMON_FLAGS.union(flags_of(_code_of(path)))
    # What stands in quotes is for another program.
    for flag in _FLAG.findall(re.sub(r"'[^']*'", "", arguments)):
        if flag not in known and f"no{flag}" not in known:
            yield f"{command} has no flag --{flag}"


def _code_of(command: Path) -> Path:
    """Returns the module that a launcher in bin starts, or the command itself."""
    if command.parent.name == "bin":
        return ROOT / "cmlm_tf" / "commands" / command.name
    return command


@cache
def flags_of(command: Path) -> dict[str, tuple[str, str]]:
    """Returns default and help of each flag that a command defines.

    Flags count that a function of the package defines, if its name begins with
    `define_` and the command calls it.
    """
    text = command.read_text(encoding="utf-8")
    flags = _defined(text)
    for function in re.findall(r"\b(define_\w+)\(", text):
        for module in ROOT.glob("cmlm_tf/**/*.py"):
            source = module.read_text(encoding="utf-8")
            if f"def {function}(" in source:
                flags |= _defined(source)
    return flags


def _defined(text: str) -> dict[str, tuple[str, str]]:
    flags = {}
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or len(node.args) < 2:
            continue
        name, default, *others = node.args
        kind = getattr(node.func, "attr", "")
        if kind.startswith("DEFINE_") and isinstance(name, ast.Constant):
            help_text = _text(others[-1]) if others else ""
            flags[name.value] = ast.unparse(default), help_text
    return flags


def _text(node: ast.AST) -> str:
    """Returns the text of a string, with dots for what is put in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    return node.value if isinstance(node, ast.Constant) else "..."


def commands_page() -> str:
    """Returns docs/commands.md: the flags of every command."""
    lines = ["# Commands and their flags", ""]
    lines += ["Made by `docs/check.py --write`; `--help` says the same.", ""]
    for command in sorted(ROOT.glob("bin/*.py")):
        code = _code_of(command)
        summary = ast.get_docstring(ast.parse(code.read_text("utf-8"))) or ""
        lines += [f"## `bin/{command.name}`", "", summary.split("\n")[0], ""]
        lines += ["| flag | default | what |", "|:--|:--|:--|"]
        for name, (default, help_text) in sorted(flags_of(code).items()):
            shown = "" if default == "None" else f"`{default}`"
            lines.append(f"| `--{name}` | {shown} | {help_text.replace('|', '/')} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Prints faults and exits with 1 if there are any; --write makes commands.md."""
    page = ROOT / "docs" / "commands.md"
    if sys.argv[1:] == ["--write"]:
        page.write_text(commands_page(), encoding="utf-8")
    faults = [
        f"{document.relative_to(ROOT)}, line {fault}"
        for document in documents()
        for fault in faults_of(document)
    ]
    if page.read_text(encoding="utf-8") != commands_page():
        faults.append("docs/commands.md is old: python docs/check.py --write")
    print("\n".join(faults) or f"{len(documents())} documents are right")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
