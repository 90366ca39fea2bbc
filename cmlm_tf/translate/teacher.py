"""Translates by greedy or beam search."""

import tensorflow as tf

from cmlm_tf.modeling.teacher import AutoregressiveTransformer
from cmlm_tf.translate.options import BeamOptions
from cmlm_tf.translate.results import Candidate
from cmlm_tf.translate.search import search_sentences
from cmlm_tf.translate.translator import Translator


class TeacherTranslator(Translator):
    """Greedy or beam search with an autoregressive Transformer."""

    model: AutoregressiveTransformer
    options_type = BeamOptions

    def search(self, sources, options, lengths):
        """Decodes one batch; see `Translator.search`."""

        def search(source_ids, alpha, limits, static_length):
            return search_sentences(
                self.model,
                source_ids,
                limits=limits,
                beam_size=options.beam_size,
                alpha=alpha,
                static_length=static_length,
            )

        source_ids = self._shapes.pad(sources)
        return self._run_to_arrays(
            (options.beam_size, lengths is None),
            search,
            source_ids,
            tf.constant(options.length_penalty, tf.float32),
            None if lengths is None else self._shapes.pad_lengths(lengths),
            self._shapes.static_limit(source_ids),
        )

    def collect(self, result, num_sentences):
        """Reads a `BeamResult`; see `Translator.collect`."""
        tokens = [
            result.token_ids[row, : result.lengths[row]].tolist()
            for row in range(num_sentences)
        ]
        return [
            [Candidate(text, tuple(ids), float(score), len(ids) + 1)]
            for text, ids, score in zip(
                self.subwords.decode(tokens), tokens, result.scores, strict=False
            )
        ]
