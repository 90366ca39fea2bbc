"""Models, texts, and the kinds of points that figures are made of."""

import dataclasses
import functools
import hashlib
import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU
from sacrebleu.significance import _bootstrap_resample

from benchmarks.cached_points import PointCache
from benchmarks.paper_figures import reliability
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.bleu import NUM_RESAMPLES, chrf, sacre_bleu
from cmlm_tf.evaluation.speed import tokens_per_iteration
from cmlm_tf.modeling.model_dir import model_sizes, read_description
from cmlm_tf.translate.batches import BatchShapes
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from cmlm_tf.translate.results import Translation
from cmlm_tf.translate.translator import Translator

#: BLEU after more passes than these is that of the end.
MOST_PASSES = 25
#: Bootstrap resamples that a point keeps, the same for all systems.
NUM_PAIRED = 200
DISTANCES = (0, 1, 2, 5)
_SENTENCES_PER_BATCH = 128
Options = UnmaskingOptions | BeamOptions
Point = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Text:
    """A parallel text: as many source lines as reference lines."""

    sources: tuple[str, ...]
    references: tuple[str, ...]

    @functools.cached_property
    def sha256(self) -> str:
        """Hash of all lines."""
        text = "\n".join(self.sources + self.references)
        return hashlib.sha256(text.encode()).hexdigest()


NO_TEXT = Text((), ())


def read_text(corpus: str, max_lines: int | None = None) -> Text:
    """Reads the first lines of a corpus; see `open_corpus`."""
    pairs = list(open_corpus(corpus))[:max_lines]
    if not all(any(map(str.strip, side)) for side in zip(*pairs, strict=True)):
        raise UserError(f"{corpus}: all lines of a side are blank")
    return Text(*zip(*pairs, strict=True))


def _kept(measure: Callable[..., Any]) -> Callable[..., Any]:
    """Has a method of `Workbench` keep what it measures by its name and arguments."""
    signature = inspect.signature(measure)

    @functools.wraps(measure)
    def get(bench: "Workbench", *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(bench, *args, **kwargs)
        given.apply_defaults()
        _, *arguments = given.arguments.items()
        key = bench.key(measure.__name__, dict(arguments))
        return bench.cache.get(key, lambda: measure(*given.args))

    return get


class Workbench:
    """A student, its teacher and two texts; every measured point is kept.

    Attributes:
        test, dev: the texts.
        longest: the most subwords that the student translates at once.
        length_beam: candidates where a figure says nothing else.
        cache: the points.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        models: dict[str, str],
        test: Text,
        dev: Text = NO_TEXT,
        **kwargs: Any,
    ):
        """Reads what the models are; they are loaded when a point needs them.

        Args:
            folder: keeps the points.
            models: directory of the `student`, and of the `teacher` if need be.
            test: the test set.
            dev: the development set; empty if no figure needs it.
            **kwargs: for `load_translator`.
        """
        self.test, self.dev = test, dev
        described = {
            role: read_description(path, role) for role, path in models.items()
        }
        self.longest = model_sizes(models["student"], described["student"]).max_length
        self.length_beam = min(5, self.longest)
        self.cache = PointCache(folder)
        self._language = described["student"]["target_language"]
        self._hashes = {k: v["weights_sha256"] for k, v in described.items()}
        self._load = functools.cache(lambda r: load_translator(models[r], **kwargs))

    @property
    def student(self) -> Translator:
        """The student."""
        return self._load("student")

    def options(self, heuristic: str, setting: float) -> UnmaskingOptions:
        """Returns the usual way of decoding at a setting."""
        return UnmaskingOptions(heuristic, setting, length_beam=self.length_beam)

    def key(self, kind: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Names all that a point depends on."""
        text, options = arguments.pop("text", self.test), arguments.get("options")
        key = {"kind": kind, "text_sha256": text.sha256, **arguments}
        key |= {"weights_sha256": self._hashes[_role(options)]}
        key["options"] = dataclasses.asdict(options) if options else None
        return key | {"language": self._language}

    @_kept
    def quality(self, options: Options, text: Text, temperature: float = 1.0) -> Point:
        """Measures BLEU, chrF and tokens per iteration (`slowest`, `selected`, ...)."""
        with reliability.tempered(self.student, temperature):
            return self._scores(self._translate(options, text), text)

    @_kept
    def beams(self, options: UnmaskingOptions, most: int) -> list[Point]:
        """Measures quality and speed on test with length beams of 1 to `most`.

        Candidates do not depend on each other, so one decoding gives all beams.
        """
        options = dataclasses.replace(options, length_beam=most)
        order = predicted_lengths(self.student, self.test.sources, most)
        wide = list(zip(self._translate(options, self.test), order, strict=True))
        return [
            self._scores([_narrow(t, ls[:b]) for t, ls in wide], self.test)
            for b in range(1, most + 1)
        ]

    @_kept
    def passes(self, options: UnmaskingOptions) -> Point:
        """Measures BLEU of the filled-in test sequences after each pass.

        Returns:
            `bleu` and `resampled`, lists by pass, and `slowest`.
        """
        traced = dataclasses.replace(options, trace=True)
        found = self._translate(traced, self.test)
        last = min(max(t.iterations for t in found), MOST_PASSES)
        texts = [[self._text_after(t, n + 1) for t in found] for n in range(last)]
        rest = self.test.references, self._language
        return {
            "bleu": [sacre_bleu(lines, *rest).value for lines in texts],
            "resampled": [resampled_bleu(lines, *rest) for lines in texts],
            "slowest": tokens_per_iteration(found).slowest,
        }

    @_kept
    def iterations(self, options: UnmaskingOptions) -> Point:
        """Decodes test with the references' lengths: `speed`, and `rows` by sentence.

        Each row has a sentence's length and its passes; empty ones are left out.
        """
        found = self._translate(options, self.test, self.test.references)
        rows = [(t.num_tokens, t.iterations) for t in found if t.num_tokens]
        return {"rows": rows, "speed": tokens_per_iteration(found).slowest}

    @_kept
    def length_classifier(self, most: int) -> Point:
        """Measures the accuracy of predicted lengths; see `length_accuracy`."""
        found = predicted_lengths(self.student, self.test.sources, most)
        references = self.student.subwords.encode(self.test.references)
        return length_accuracy(found, [len(ids) for ids in references])

    @_kept
    def reliability(self, text: Text, temperature: float | None = None) -> Point:
        """Summarises reliability `before` and `after` scaling, by default the best."""
        sides = text.sources, text.references
        found = reliability.predict_references(self.student, *sides)
        fitted = temperature or reliability.best_temperature(found)
        moments = {"before": 1.0, "after": fitted}
        return {k: reliability.summarize(found, t) for k, t in moments.items()}

    def _translate(
        self, options: Options, text: Text, references: Sequence[str] | None = None
    ) -> list[Translation]:
        translator = self._load(_role(options))
        return translator.translate(text.sources, options, references, warn=False)

    def _scores(self, translations: Sequence[Translation], text: Text) -> Point:
        lines = [translation.text for translation in translations]
        rest = text.references, self._language
        bleu = sacre_bleu(lines, *rest, NUM_RESAMPLES)
        return {
            "bleu": bleu.value,
            "bleu_ci": bleu.confidence,
            "chrf": chrf(lines, text.references).value,
            **dataclasses.asdict(tokens_per_iteration(translations)),
            "resampled": resampled_bleu(lines, *rest),
        }

    def _text_after(self, translation: Translation, number: int) -> str:
        best = [candidates[0] for candidates in translation.candidates]
        ids = [c.passes[min(number, c.iterations) - 1]["token_ids"] for c in best]
        return " ".join(self.student.subwords.decode(ids))


def _role(options: Options | None) -> str:
    return "teacher" if isinstance(options, BeamOptions) else "student"


def resampled_bleu(
    hypotheses: Sequence[str], references: Sequence[str], language: str
) -> list[float]:
    """Returns BLEU, in two digits, of sacrebleu's bootstrap resamples.

    They are the same for all systems: a paired bootstrap compares them one by one.
    """
    metric = BLEU(tokenize="zh" if language == "zh" else "13a")
    counts = metric._extract_corpus_statistics(hypotheses, [references])
    _, scores = _bootstrap_resample(counts, metric, NUM_PAIRED)
    return [round(score.score, 2) for score in scores]


def predicted_lengths(
    translator: Translator, sources: Sequence[str], most: int
) -> list[list[int]]:
    """Returns the most probable target lengths of each line, best first."""
    room = translator.model.config.max_length - 1
    shapes = BatchShapes(_SENTENCES_PER_BATCH, room + 1, static=False)
    encoded = [ids[:room] for ids in translator.subwords.encode(sources)]
    lengths: list[list[int]] = [[]] * len(encoded)
    for batch in shapes.batches([len(ids) for ids in encoded]):
        _, logits = translator.model.start(shapes.pad([encoded[i] for i in batch]))
        best = np.argsort(-logits.numpy(), axis=1, kind="stable")[:, :most] + 1
        for i, row in zip(batch, best.tolist(), strict=True):
            lengths[i] = row
    return lengths


def length_accuracy(
    predicted: Sequence[Sequence[int]], references: Sequence[int]
) -> dict[str, float]:
    """Compares each sentence's most probable lengths, best first, with the reference's.

    >>> [*length_accuracy([[5, 4], [7, 8]], [4, 9]).values()]
    [0.0, 0.5, 1.0, 1.0, 0.0, 0.5]

    Returns:
        Shares of sentences by what they are of: the best length no farther off than
        `DISTANCES`, and the right length among the best 1, 2, ...
    """
    table, truth = np.array(predicted), np.array(references)[:, np.newaxis]
    distance = np.abs(table[:, :1] - truth)
    found = np.cumsum(table == truth, axis=1) > 0
    shares = {f"best length within {d} subwords": distance <= d for d in DISTANCES}
    for b in range(table.shape[1]):
        shares[f"right length among {b + 1} best"] = found[:, b]
    return {name: float(np.mean(right)) for name, right in shares.items()}


def _narrow(translation: Translation, lengths: Sequence[int]) -> Translation:
    """Takes the candidates of a narrower beam; a line in parts keeps all."""
    if len(translation.candidates) != 1:
        return translation
    (part,) = translation.candidates
    return Translation.join([[c for c in part if len(c.tokens) in lengths]])
