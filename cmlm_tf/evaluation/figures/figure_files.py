"""Reads the JSON files of figures, and tells what they are of."""

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.evaluation.figures.compare import Results
from cmlm_tf.evaluation.figures.measure import (
    BIN_WIDTH,
    DEV_TEST_SYSTEMS,
    LENGTHS_SYSTEMS,
    PASSES_SYSTEMS,
    TEMPERATURE_SYSTEMS,
)
from cmlm_tf.evaluation.figures.origin import check_same, identity
from cmlm_tf.evaluation.figures.shapes import (
    COUNT,
    GROUP,
    LENGTH,
    QUALITY,
    SHARE,
    SPEED,
    TEMPERATURE,
    Checked,
    require,
)
from cmlm_tf.utils.json_files import read_json

_Faults = Iterator[tuple[str, str]]

_HEAD = {"label": str, "lines": {str: COUNT}, "origin?": {str: str}}


def _rows(systems: Collection[str], *fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the shape of rows of some systems."""
    row: dict[str, Any] = {"system": set(systems)}
    for more in fields:
        row |= more
    return row


_SETTING = {"setting": str}
_BEAM = {"length_beam?": COUNT}
_ERRORS = {str: {"mean": SPEED, "largest": SPEED}}
#: Speeds that the text does not allow, so that rows are missing; it may be all.
_LEFT_OUT = {"left_out?": [str]}


def _tradeoff(result: dict[str, Any]) -> _Faults:
    found = {(row["system"], row["setting"]) for row in result["rows"]}
    for setting in ("beam 5", "greedy"):
        if ("teacher", setting) not in found:
            yield "rows", f"teacher, {setting} is missing"
    yield from _missing(result["rows"], "system", HEURISTICS)


def _strategies(result: dict[str, Any]) -> _Faults:
    beams = {name: _column(result, "length_beam", system=name) for name in STRATEGIES}
    most = max(map(len, beams.values()))
    for name, found in beams.items():
        if found != list(range(1, most + 1)):
            yield "rows", f"length_beam of {name} must be 1 to {most}"


def _passes(result: dict[str, Any]) -> _Faults:
    yield from _nothing(result)
    targets = sorted({row["target"] for row in result["rows"]})
    if len(targets) > 2:
        yield "rows", "target must be one of two speeds"
    for target in targets:
        for name in PASSES_SYSTEMS:
            found = _column(result, "iteration", system=name, target=target)
            if found != list(range(1, len(found) + 1)):
                yield "rows", f"iteration of {name} at {target:g} must be 1, 2, ..."


def _lengths(result: dict[str, Any]) -> _Faults:
    yield from _nothing(result)
    yield from _unnamed(result, "speeds")


def _speeds(result: dict[str, Any]) -> _Faults:
    yield from _nothing(result)
    yield from _unnamed(result, "errors")


def _probabilities(result: dict[str, Any]) -> _Faults:
    rows = [row for row in result["rows"] if row["temperature"] == 1.0]
    yield from _missing(rows, "group", ("all", "rank 1"))


def _temperature(result: dict[str, Any]) -> _Faults:
    for value in {1.0, result["temperature"]}:
        rows = [row for row in result["rows"] if row["temperature"] == value]
        for _, fault in _missing(rows, "system", TEMPERATURE_SYSTEMS):
            yield "rows", f"{fault} at temperature {value:g}"


def _column(result: dict[str, Any], field: str, **chosen: Any) -> list[Any]:
    return [row[field] for row in result["rows"] if chosen.items() <= row.items()]


def _missing(rows: list[dict[str, Any]], field: str, names: Collection[str]) -> _Faults:
    found = {row[field] for row in rows}
    yield from (("rows", f"{name} is missing") for name in names if name not in found)


def _nothing(result: dict[str, Any]) -> _Faults:
    if not result["rows"] and "left_out" not in result:
        yield "rows", "must be a list with entries"


def _unnamed(result: dict[str, Any], field: str) -> _Faults:
    for row in result["rows"]:
        if row["system"] not in result[field]:
            yield field, f"{row['system']} is missing"


#: What a figure holds beside its name, its label, the numbers of lines and its origin.
_FIGURES: dict[
    str, tuple[dict[str, Any], Callable[[Any], Iterable[tuple[str, str]]]]
] = {
    "tradeoff": (
        {"rows": [_rows({"teacher", *HEURISTICS}, _SETTING, QUALITY)], **_BEAM},
        _tradeoff,
    ),
    "strategies": (
        {
            "rows": [_rows(STRATEGIES, {"length_beam": COUNT}, QUALITY)],
            "iterations": COUNT,
        },
        _strategies,
    ),
    "passes": (
        {
            "rows": [
                _rows(
                    PASSES_SYSTEMS,
                    _SETTING,
                    {"target": SPEED, "speed": SPEED, "iteration": COUNT},
                    {k: QUALITY[k] for k in ("bleu", "bleu_ci", "resampled?")},
                ),
                ...,
            ],
            **_BEAM,
            **_LEFT_OUT,
        },
        _passes,
    ),
    "lengths": (
        {
            "rows": [
                _rows(
                    LENGTHS_SYSTEMS,
                    _SETTING,
                    {"first_length": LENGTH[::BIN_WIDTH], "count": COUNT},
                    {"mean": SPEED, "std": SPEED},
                ),
                ...,
            ],
            "speeds": {str: {"setting": str, "speed": SPEED}},
            **_LEFT_OUT,
        },
        _lengths,
    ),
    "dev_test": (
        {
            "rows": [
                _rows(
                    DEV_TEST_SYSTEMS,
                    _SETTING,
                    {"dev": SPEED, "test": SPEED, "error": SPEED},
                )
            ],
            "errors": _ERRORS,
            **_BEAM,
        },
        _speeds,
    ),
    "promises": (
        {
            "rows": [
                _rows(
                    DEV_TEST_SYSTEMS,
                    _SETTING,
                    dict.fromkeys(("target", "promised", "measured", "error"), SPEED),
                ),
                ...,
            ],
            "errors": _ERRORS,
            "dev_decodings": {str: COUNT},
            **_BEAM,
            **_LEFT_OUT,
        },
        _speeds,
    ),
    "length_classifier": ({"rows": [{"measure": str, "share": SHARE}]}, lambda _: ()),
    "probabilities": (
        {
            "rows": [{"temperature": TEMPERATURE, "group": str} | GROUP],
            "temperature": TEMPERATURE,
            "loss": {str: float},
        },
        _probabilities,
    ),
    "temperature": (
        {
            "rows": [
                _rows(
                    TEMPERATURE_SYSTEMS,
                    _SETTING,
                    {"temperature": TEMPERATURE},
                    QUALITY,
                )
            ],
            "temperature": TEMPERATURE,
            **_BEAM,
        },
        _temperature,
    ),
}


def read_figure(path: Path) -> dict[str, Any]:
    """Reads a figure's JSON file.

    Args:
        path: named after the figure.

    Raises:
        UserError: it is missing or damaged; names the file and the field.
    """
    fields, faults = _FIGURES[path.stem]
    head = {"figure": {path.stem}, **_HEAD}
    return require(read_json(path), Checked(head | fields, faults), str(path))


def read_figures(folder: Path, expected: dict[str, Any] | None = None) -> Results:
    """Reads all figures of a folder.

    Args:
        folder: of one model and text.
        expected: what the figures must be of, as `identity` tells it; what it does
            not hold may be anything.

    Returns:
        The figures that are there, by name.

    Raises:
        UserError: one is damaged, not of what is expected, or of something else than
            another; names the file and what differs.
    """
    where = "the other figures of the folder" if expected is None else "this run"
    known = dict(expected or {})
    results = {}
    for name in _FIGURES:
        path = folder / f"{name}.json"
        if path.exists():
            results[name] = read_figure(path)
            check_same(known, identity(results[name]), path, where)
            known |= identity(results[name])
    return results
