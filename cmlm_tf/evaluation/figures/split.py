"""A parallel text on which figures are measured."""

import dataclasses
import functools
import hashlib
from typing import Any

from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class Split:
    """One parallel text.

    Attributes:
        name: `dev` or `test`.
        sources: its source lines.
        references: as many target lines.
    """

    name: str
    sources: tuple[str, ...]
    references: tuple[str, ...]

    @functools.cached_property
    def sha256(self) -> str:
        """Hash of the lines of both sides, line feeds between them."""
        text = "\n".join(self.sources + self.references)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def key(self) -> dict[str, Any]:
        """What a point depends on."""
        lines = len(self.sources)
        digest = self.sha256[:16]
        return {"split": self.name, "lines": lines, "text_sha256": digest}


def read_split(name: str, corpus: str, most_lines: int | None) -> Split:
    """Reads the first lines of a corpus; see `open_corpus`.

    Raises:
        UserError: it cannot be read, or all lines of a side are blank.
    """
    pairs = list(open_corpus(corpus))[:most_lines]
    if not all(any(map(str.strip, side)) for side in zip(*pairs, strict=True)):
        raise UserError(f"{name}: {corpus}: all lines of a side are blank")
    sources, references = zip(*pairs, strict=True)
    return Split(name, sources, references)
