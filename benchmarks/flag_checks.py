"""Checks of flags, so that a mistake is told before anything is measured."""

import re
from collections.abc import Callable
from typing import Any

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.translate.options import UnmaskingOptions, parse_setting
from cmlm_tf.utils import files

_SPAN = "must be two whole numbers from 1, the least and the most"


def check_items(
    flag: flags.FlagHolder, parse: Callable[[str], Any], least: int = 0
) -> None:
    """Refuses values of a list flag, or of one that takes one item.

    Args:
        flag: the flag.
        parse: raises `ValueError` or `UserError` for an item that is none.
        least: how many items there must be.
    """

    def check(items: list[str] | str) -> bool:
        try:
            for item in [items] if isinstance(items, str) else items:
                parse(item)
        except (UserError, ValueError) as error:
            raise flags.ValidationError(str(error)) from error
        return len(items) >= least

    flags.register_validator(flag, check, "must not be empty")
    if not least:
        cli.allow_empty(flag)


def check_span(flag: flags.FlagHolder) -> None:
    """Refuses values of a list flag that are not a least and a most number."""

    def check(items: list[str]) -> bool:
        numbers = [int(item) for item in items if item.isdecimal()]
        return len(numbers) == len(items) == 2 and 1 <= numbers[0] <= numbers[1]

    flags.register_validator(flag, check, _SPAN)


def check_writable(flag: flags.FlagHolder) -> None:
    """Raises a `UserError` if no file can be written where a flag, if given, says."""
    if flag.value is None:
        return
    try:
        files.check_writable(flag.value)
    except UserError as error:
        raise UserError(f"--{flag.name}: {error}") from error


def parse_layers(text: str) -> dict[str, int]:
    """Reads `ENCODER-DECODER` as fields of a `TransformerConfig`.

    >>> parse_layers("12-1")
    {'num_encoder_layers': 12, 'num_decoder_layers': 1}

    Raises:
        UserError: it is not that, or a number out of range.
    """
    match = re.fullmatch("([0-9]+)-([0-9]+)", text)
    if not match:
        raise UserError(f"must be ENCODER-DECODER, such as 12-1, not {text!r}")
    encoder, decoder = map(int, match.groups())
    sizes = {"num_encoder_layers": encoder, "num_decoder_layers": decoder}
    TransformerConfig(vocab_size=8, **sizes)
    return sizes


def parse_unmasking(text: str) -> UnmaskingOptions:
    """Reads `HEURISTIC:SETTING`.

    Raises:
        UserError: it is not that, or no such rule, or a setting out of range.
    """
    return UnmaskingOptions(*parse_setting(text))
