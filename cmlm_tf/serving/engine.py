"""Sources and requests to translations, with the shapes that a device likes."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from cmlm_tf.decoding.candidates import Candidates, unmask_candidates
from cmlm_tf.decoding.forced import Forced
from cmlm_tf.decoding.lengths import length_beam
from cmlm_tf.decoding.loop import Unmasking
from cmlm_tf.decoding.rowwise import RowwiseHeuristic
from cmlm_tf.modeling.passes import DynamicPasses, Passes
from cmlm_tf.modeling.student import ConditionalMaskedLM, SourceCache
from cmlm_tf.serving.readers import forced_reader, stricter_reader
from cmlm_tf.serving.requests import Request
from cmlm_tf.special_ids import MASK_ID, PAD_ID

#: What a SavedModel is made for; the last two have few static shapes.
DEVICES = ("cpu", "gpu", "tpu")


class Engine:
    """Decodes with shapes as they come, as suits a CPU.

    Attributes:
        weights: the variables that its graphs read.
        functions: compiled parts by the alias that a SavedModel gives them; none.
    """

    def __init__(
        self,
        student: ConditionalMaskedLM,
        continuing_ids: Sequence[int],
        passes: Passes | None = None,
    ):
        """Takes the model.

        Args:
            student: the model.
            continuing_ids: of the subwords that do not begin a word.
            passes: of the model; None for dynamic shapes.
        """
        self._student, self._continuing_ids = student, continuing_ids
        self._passes = passes or DynamicPasses(student)
        # Keras variables do not count as a module's; those that they wrap do.
        self.weights = [weight.value for weight in student.weights]
        if student.embedding.output_table is not None:
            self.weights.append(student.embedding.output_table)
        self.functions: dict[str, Any] = {}

    def start(self, source_ids: tf.Tensor) -> tuple[SourceCache, tf.Tensor]:
        """Encodes the sources.

        Args:
            source_ids: int32 `[batch, length]`, EOS and PAD behind the end; a
                row of nothing but PAD has no translation.

        Returns:
            What `unmask` takes, and float32 length logits `[batch, max_length]`.
        """
        return self._student.start(source_ids)

    def unmask(
        self,
        cache: SourceCache,
        lengths: tf.Tensor,
        request: Request,
        initial_ids: tf.Tensor | None = None,
        begins_word: tf.Tensor | None = None,
        forced_ids: tf.Tensor | None = None,
        trace: bool = False,
    ) -> Candidates:
        """Decodes every length candidate of every sentence.

        Args:
            cache: of `start`.
            lengths: int32 `[batch, candidates]`; 0 is no candidate.
            request: of the batch.
            initial_ids: see `unmask_candidates`.
            begins_word: bool `[batch, candidates, length]`, True where `initial_ids`
                has a MASK for a subword that begins a word; given with them.
            forced_ids: int32 `[batch, candidates, length]`, what is written in place
                of the model's choice; see `Forced`. Not with `initial_ids`.
            trace: whether to keep every pass.

        Returns:
            The candidates.
        """
        banned = self._student.banned_ids
        rows = request.repeat(tf.shape(lengths)[1])
        heuristic: Any = RowwiseHeuristic(rows.rules, rows.settings)
        reader, grid = None, initial_ids
        if begins_word is not None:
            reader = stricter_reader(banned, begins_word, self._continuing_ids)
        elif forced_ids is not None:
            reader, grid = forced_reader(banned, forced_ids), forced_ids
        candidates = lengths.shape[1] or tf.shape(lengths)[1]
        predict_fn: Any = self._passes.predict_fn(cache, candidates, reader)
        if forced_ids is not None:
            forced = Forced(predict_fn)
            predict_fn, heuristic = forced.predict, forced.heuristic(heuristic)
        return unmask_candidates(
            predict_fn,
            lengths,
            Unmasking(heuristic, max_iterations=rows.max_iterations, trace=trace),
            mask_id=MASK_ID,
            pad_id=PAD_ID,
            length=None if grid is None else tf.shape(grid)[2],
            initial_ids=initial_ids,
        )


def asked_lengths(
    logits: tf.Tensor, is_blank: tf.Tensor, request: Request
) -> tf.Tensor:
    """Takes as many of the most probable lengths as each row asks for.

    Args:
        logits: float32 `[batch, max_length]`; -inf where a length is impossible.
        is_blank: bool `[batch]`, True where nothing is to be translated.
        request: of the batch.

    Returns:
        int32 `[batch, candidates]`, most probable first, 0 behind the last.
    """
    most = tf.reduce_max(request.length_beam)
    lengths = length_beam(logits, most)
    asked = tf.range(most) < request.length_beam[:, tf.newaxis]
    possible = tf.gather(logits, lengths - 1, batch_dims=1) > float("-inf")
    return tf.where(asked & possible & ~is_blank[:, tf.newaxis], lengths, 0)
