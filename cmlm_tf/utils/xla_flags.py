"""XLA's settings, which it reads from the environment when it first compiles."""

import os


def prefer_xla_flag(flag: str) -> None:
    """Sets a flag unless the user has set it, or has put all flags into a file.

    Args:
        flag: such as `--xla_name=value`.
    """
    text = os.environ.get("XLA_FLAGS", "")
    flags = text.split()
    names_file = bool(flags) and not flags[0].startswith("--")
    is_set = any(flag.split("=")[0] == other.split("=")[0] for other in flags)
    if not (names_file or is_set):
        os.environ["XLA_FLAGS"] = f"{text} {flag}" if flags else flag
