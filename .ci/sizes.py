"""Checks the sizes of files and functions that CONTRIBUTING.md names."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Lines of a file, lines of a function without its docstring, its parameters.
FILE, FUNCTION, PARAMETERS = 300, 45, 8
FOLDERS = ("cmlm_tf", "bin", "benchmarks", "docs", "examples", "tests", ".ci")
#: What may be larger, and why.
EXCEPTIONS: dict[str, str] = {}


def too_large(path: Path) -> Iterator[tuple[str, str]]:
    """Yields the places in a file that are too large, and how large they are."""
    text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
    lines = len(text.splitlines())
    if lines > FILE:
        yield name, f"{lines} lines, at most {FILE}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            docstring = len((ast.get_docstring(node, clean=False) or "").splitlines())
            lines = node.end_lineno - node.lineno + 1 - docstring
            names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            parameters = len([name for name in names if name.arg != "self"])
            if lines > FUNCTION or parameters > PARAMETERS:
                size = f"{lines} lines, {parameters} parameters"
                yield f"{name}:{node.name}", f"{size}, at most {FUNCTION}, {PARAMETERS}"


def main() -> None:
    """Prints what is wrong, exceptions that are none included; then exits with 1."""
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    found = dict(place for path in sorted(paths) for place in too_large(path))
    faults = [f"{place}: {found[place]}" for place in found if place not in EXCEPTIONS]
    faults += [f"{place}: no exception" for place in EXCEPTIONS if place not in found]
    print("\n".join(faults) or "files and functions have the right size")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
