"""The flag `--config`: a config file, or the name of a config of the package."""

from pathlib import Path
from typing import Any

from absl import flags
from ml_collections import config_flags

_CONFIGS = Path(__file__).resolve().parents[1] / "configs"

# The command's --help tells of the flag that it defines through this module.
flags.disclaim_key_flags()


def define_config_flag() -> flags.FlagHolder:
    """Defines `--config`, which must be given, and its overrides `--config.a.b=value`.

    Returns:
        The flag; its value is a ConfigDict.
    """
    holder = config_flags.DEFINE_config_file(
        "config", None, "Config file or name, and role, such as multi30k:teacher."
    )
    flag = flags.FLAGS[holder.name]
    flag.parser = _NamedConfigs(flag.parser)
    flags.mark_flag_as_required(holder.name)
    return holder


class _NamedConfigs(flags.ArgumentParser):
    """Lets another parser read the file that a name stands for."""

    def __init__(self, files: flags.ArgumentParser):
        self._files = files

    def parse(self, argument: str) -> Any:
        """Returns the config."""
        return self._files.parse(config_file(argument))


def config_names() -> list[str]:
    """Returns the names of the package's configs."""
    return sorted(p.stem for p in _CONFIGS.glob("*.py") if p.stem != "__init__")


def config_file(argument: str) -> str:
    """Finds the file that `NAME` or `NAME:ROLE` stands for.

    Args:
        argument: a name of `config_names`, or a file, which goes before a name; a
            role may follow.

    Returns:
        `FILE` or `FILE:ROLE`.

    Raises:
        ValueError: there is no such file, nor such a name.
    """
    name, colon, role = argument.partition(":")
    if name in config_names() and not Path(name).is_file():
        name = str(_CONFIGS / f"{name}.py")
    elif not Path(name).exists():
        known = ", ".join(config_names())
        raise ValueError(f"no such file, and no config of the package: {known}")
    return name + colon + role
