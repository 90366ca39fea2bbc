"""Models and texts on which figures are measured, and the kinds of points."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.bleu import NUM_RESAMPLES, chrf, resampled_bleu, sacre_bleu
from cmlm_tf.evaluation.figures.lengths import narrow_beam, predicted_lengths
from cmlm_tf.evaluation.figures.points import PointStore
from cmlm_tf.evaluation.figures.shapes import POINTS
from cmlm_tf.evaluation.figures.split import Split
from cmlm_tf.evaluation.figures.temperature import tempered
from cmlm_tf.evaluation.speed import speed_of
from cmlm_tf.modeling.model_dir import model_sizes, read_description
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
from cmlm_tf.translate.results import Translation
from cmlm_tf.translate.student import StudentTranslator
from cmlm_tf.translate.translator import Translator

#: BLEU after more passes than these is that of the end.
MOST_PASSES = 25

_LANGUAGES = ("source_language", "target_language")
Options = UnmaskingOptions | BeamOptions


class Workbench:
    """Measures points and keeps them; a model is loaded when it is needed.

    Attributes:
        splits: the texts at hand by name, `test` and perhaps `dev`.
        origin: hashes and languages of models and texts.
        longest: the most subwords of a text that the student translates at once.
        length_beam: candidates where a figure says nothing else.
    """

    def __init__(
        self,
        store: PointStore,
        student_dir: str,
        teacher_dir: str,
        dev: Split | None,
        test: Split,
        **kwargs: Any,
    ):
        """Reads what both models are.

        Args:
            store: keeps the points.
            student_dir: model directory of the student.
            teacher_dir: model directory of its teacher; empty if no figure needs it.
            dev: the development set, or None if no figure needs it.
            test: the test set.
            **kwargs: for `load_translator`.

        Raises:
            UserError: a directory is no model of that role, the models are of other
                languages, or a point in the store is of something else.
        """
        self.splits = {split.name: split for split in (dev, test) if split}
        self._store, self._kwargs = store, kwargs
        folders = {"student": student_dir, "teacher": teacher_dir}
        self._folders = {role: folder for role, folder in folders.items() if folder}
        described = {k: read_description(v, k) for k, v in self._folders.items()}
        for role, folder in self._folders.items():
            for name in _LANGUAGES:
                value, expected = (described[r][name] for r in (role, "student"))
                if value != expected:
                    raise UserError(
                        f"{folder}: {name} is {value!r}, the student's {expected!r}"
                    )
        self.longest = model_sizes(student_dir, described["student"]).max_length
        self.length_beam = min(5, self.longest)
        self._language = described["student"]["target_language"]
        self._hashes = {k: v["weights_sha256"][:16] for k, v in described.items()}
        self.origin = {name: described["student"][name] for name in _LANGUAGES}
        for role, description in described.items():
            for name in ("weights_sha256", "subword_sha256"):
                self.origin[f"{role}_{name}"] = description[name]
        for name, split in self.splits.items():
            self.origin[f"{name}_sha256"] = split.sha256
        store.keep_to(self.origin)

    @property
    def dev(self) -> Split:
        """The development set."""
        return self.splits["dev"]

    @property
    def test(self) -> Split:
        """The test set."""
        return self.splits["test"]

    @functools.cached_property
    def student(self) -> StudentTranslator:
        """The student."""
        translator = load_translator(self._folders["student"], **self._kwargs)
        assert isinstance(translator, StudentTranslator)
        return translator

    @functools.cached_property
    def teacher(self) -> Translator:
        """The teacher."""
        return load_translator(self._folders["teacher"], **self._kwargs)

    def expect(self, num_points: int) -> None:
        """Says of how many points the figure at hand is made, for the log."""
        self._store.expected = num_points

    def quality(
        self,
        options: Options,
        split: Split,
        *,
        oracle: bool = False,
        temperature: float = 1.0,
    ) -> dict[str, Any]:
        """Measures quality and speed.

        Args:
            options: of student or teacher.
            split: the text.
            oracle: whether lengths are the references'.
            temperature: divides the student's logits.

        Returns:
            `bleu`, `bleu_ci` (half the 95 % interval), `chrf`, `resampled` (see
            `resampled_bleu`; older points lack it), and tokens per iteration as
            `slowest`, `selected`, `summed`.
        """
        more = {"oracle": oracle, "temperature": temperature}
        return self.point(
            "quality",
            options,
            split,
            more,
            lambda: self._quality(options, split, oracle, temperature),
        )

    def _quality(self, options, split, oracle, temperature):
        with tempered(self.student, temperature):
            translations = self._translate(options, split, oracle)
        speed = dataclasses.asdict(speed_of(translations))
        return self._scores([t.text for t in translations], split) | speed

    def _scores(self, hypotheses: Sequence[str], split: Split) -> dict[str, Any]:
        bleu = sacre_bleu(hypotheses, split.references, self._language, NUM_RESAMPLES)
        return {
            "bleu": bleu.value,
            "bleu_ci": bleu.confidence,
            "chrf": chrf(hypotheses, split.references).value,
            "resampled": resampled_bleu(hypotheses, split.references, self._language),
        }

    def beams(
        self, options: UnmaskingOptions, split: Split, most: int
    ) -> dict[str, Any]:
        """Measures quality and speed with length beams of 1 to `most`.

        Candidates do not depend on each other, so one decoding gives all beams.

        Returns:
            `beams`, a list of what `quality` returns.
        """
        options = dataclasses.replace(options, length_beam=most)

        def measure():
            translations = self._translate(options, split, False)
            order = predicted_lengths(self.student, split.sources, most)
            return {
                "beams": [
                    self._beam(translations, order, b, split)
                    for b in range(1, most + 1)
                ]
            }

        shape = {"beams": (POINTS["quality"],) * most}
        return self.point("beams", options, split, {}, measure, shape)

    def _beam(self, translations, order, b, split):
        kept = [
            narrow_beam(translation, lengths[:b])
            for translation, lengths in zip(translations, order, strict=True)
        ]
        speed = dataclasses.asdict(speed_of(kept))
        return self._scores([t.text for t in kept], split) | speed

    def passes(self, options: UnmaskingOptions, split: Split) -> dict[str, Any]:
        """Measures BLEU of the filled-in sequences after each pass.

        Returns:
            `bleu` and `resampled`, lists by pass, of the candidates that are selected
            in the end; and tokens per iteration as in `quality`.
        """
        options = dataclasses.replace(options, trace=True)

        def measure():
            translations = self._translate(options, split, False)
            speed = dataclasses.asdict(speed_of(translations))
            last = min(max(t.iterations for t in translations), MOST_PASSES)
            texts = [
                [self._text_after(t, number) for t in translations]
                for number in range(1, last + 1)
            ]
            rest = split.references, self._language
            bleu = [sacre_bleu(lines, *rest).value for lines in texts]
            resampled = [resampled_bleu(lines, *rest) for lines in texts]
            return {"bleu": bleu, "resampled": resampled} | speed

        return self.point("passes", options, split, {}, measure)

    def _text_after(self, translation: Translation, number: int) -> str:
        best = [candidates[0] for candidates in translation.candidates]
        ids = [c.passes[min(number, c.iterations) - 1]["token_ids"] for c in best]
        return " ".join(self.student.subwords.decode(ids))

    def iterations(self, options: UnmaskingOptions, split: Split) -> dict[str, Any]:
        """Counts passes by the reference's length, with that length alone.

        Returns:
            `lengths`: for each length N as text, the number of sentences and the
            sums of their passes and of their squares; and `speed`.
        """

        def measure():
            translations = self._translate(options, split, True)
            table: dict[str, list[int]] = {}
            for t in translations:
                if t.num_tokens:
                    row = table.setdefault(str(t.num_tokens), [0, 0, 0])
                    row[0] += 1
                    row[1] += t.iterations
                    row[2] += t.iterations**2
            return {"lengths": table, "speed": speed_of(translations).slowest}

        return self.point("iterations", options, split, {}, measure)

    def _translate(
        self, options: Options, split: Split, oracle: bool
    ) -> list[Translation]:
        is_student = isinstance(options, UnmaskingOptions)
        translator = self.student if is_student else self.teacher
        references = split.references if oracle else None
        return translator.translate(split.sources, options, references, warn=False)

    def point(
        self,
        kind: str,
        options: Options | None,
        split: Split,
        more: dict[str, Any],
        measure: Callable[[], dict[str, Any]],
        shape: Any = None,
    ) -> dict[str, Any]:
        """Returns a point from the store, or measures it; see `PointStore.get`."""
        role = "teacher" if isinstance(options, BeamOptions) else "student"
        key = {"kind": kind, **split.key, "weights_sha256": self._hashes[role], **more}
        if options is not None:
            key |= {"options": dataclasses.asdict(options)}
        return self._store.get(key, measure, shape or POINTS[kind])
