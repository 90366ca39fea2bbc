"""One SentencePiece vocabulary for both languages, in Python and in the graph."""

import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import sentencepiece
from absl import logging
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from cmlm_tf.data.text_files import plain_spaces, unbroken, well_formed
from cmlm_tf.errors import UserError
from cmlm_tf.special_ids import BOS_ID, EOS_ID, MASK_ID, MASK_PIECE, PAD_ID, UNK_ID
from cmlm_tf.utils.files import atomic_write

if TYPE_CHECKING:
    import tensorflow_text

MODEL_TYPES = ("unigram", "bpe")
SIZE_MULTIPLE = 8

#: Begins a piece that begins a word.
WORD_START = "\u2581"

_RESERVED_PIECES = {
    PAD_ID: "<pad>",
    UNK_ID: "<unk>",
    BOS_ID: "<s>",
    EOS_ID: "</s>",
    MASK_ID: MASK_PIECE,
}
_NUM_BYTES = 256
# Sums of floats depend on the number of threads, hence so would the model.
_TRAINING_THREADS = 16
_WARNINGS = 1
_SMALLEST_SAMPLE = 101


def train_subword_model(
    sentences: Iterable[str],
    path: str | os.PathLike[str],
    vocab_size: int = 32000,
    model_type: str = "unigram",
    *,
    character_coverage: float = 0.9995,
    num_sampled_sentences: int = 4_000_000,
) -> None:
    """Trains a SentencePiece model and writes it to a file.

    Ids 0 to 4 are control symbols, which no spelling in a text can reach, and
    the 256 bytes are pieces, so that no text is unknown. Text is normalised by
    `nmt_nfkc`, after `plain_spaces`. A corpus too small for the vocabulary gives a
    smaller one. The same sentences and settings give the same file.

    Args:
        sentences: both languages; read once.
        path: the file to write; it appears whole or not at all.
        vocab_size: number of pieces, a multiple of 8.
        model_type: `unigram` or `bpe`.
        character_coverage: share of the running characters that get a piece of
            their own; the others are written as bytes.
        num_sampled_sentences: the most sentences that are used, over 100, drawn
            at random (always the same ones); memory grows with it.

    Raises:
        UserError: a size that is no multiple of 8 or too small for the
            characters, an unknown type, too small a sample, no sentences.
    """
    _check_settings(vocab_size, model_type, num_sampled_sentences)
    model = io.BytesIO()
    errors: list[BaseException] = []
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_keeping_errors(sentences, errors),
            model_writer=model,
            vocab_size=vocab_size,
            model_type=model_type,
            character_coverage=character_coverage,
            input_sentence_size=num_sampled_sentences,
            pad_id=PAD_ID,
            unk_id=UNK_ID,
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            control_symbols=[MASK_PIECE],
            byte_fallback=True,
            hard_vocab_limit=False,
            num_threads=_TRAINING_THREADS,
            minloglevel=_WARNINGS,
        )
    except RuntimeError as error:
        raise _training_error(error, errors) from error
    cut = _cut(model.getvalue(), vocab_size)
    with atomic_write(path) as temporary:
        temporary.write_bytes(cut)


def _check_settings(vocab_size: int, model_type: str, num_sampled: int) -> None:
    if vocab_size % SIZE_MULTIPLE or vocab_size <= 0:
        raise UserError(
            f"vocab_size {vocab_size}: must be a multiple of {SIZE_MULTIPLE}, above 0"
        )
    if model_type not in MODEL_TYPES:
        raise UserError(f"model_type {model_type!r}: must be unigram or bpe")
    if num_sampled < _SMALLEST_SAMPLE:
        raise UserError(
            f"num_sampled_sentences {num_sampled}: must be {_SMALLEST_SAMPLE} or more"
        )


def _keeping_errors(
    sentences: Iterable[str], errors: list[BaseException]
) -> Iterator[str]:
    """Keeps what the sentences raise: the C++ trainer passes on the text alone."""
    try:
        yield from map(_readable, sentences)
    except (Exception, KeyboardInterrupt) as error:
        errors.append(error)
        raise


def _readable(text: str) -> str:
    """Replaces what SentencePiece cannot read, and spaces that it would drop."""
    return plain_spaces(well_formed(text))


def _training_error(error: RuntimeError, errors: list[BaseException]) -> BaseException:
    if errors:
        return errors[0]
    text = str(error)
    if "sentences_.empty()" in text:
        return UserError("subword model: there are no sentences to train on")
    return UserError(f"subword model: {text.rpartition('] ')[2].strip() or text}")


def _cut(model: bytes, asked: int) -> bytes:
    """Cuts a vocabulary that came out small down to a multiple of 8.

    The last pieces are the rarest; their characters are written as bytes. Only
    the mark of a word's start has to stay a piece.
    """
    proto = ModelProto.FromString(model)
    places = [i for i, p in enumerate(proto.pieces) if p.piece != WORD_START]
    for place in places[len(places) - len(proto.pieces) % SIZE_MULTIPLE :][::-1]:
        del proto.pieces[place]
    if len(proto.pieces) < len(_RESERVED_PIECES) + _NUM_BYTES:
        raise UserError("subword model: too little text to train on")
    size = len(proto.pieces)
    if size < asked:
        logging.warning("the text yields only %d subwords, not %d", size, asked)
    proto.trainer_spec.vocab_size = size
    return proto.SerializeToString(deterministic=True)


class SubwordModel:
    """A SentencePiece model with the reserved ids of `special_ids`.

    Attributes:
        vocab_size: number of ids, a multiple of 8.
        sha256: hexadecimal hash of the model file.
        model: the file's bytes.
    """

    def __init__(self, path: str | os.PathLike[str]):
        """Loads a model file.

        Args:
            path: a file written by `train_subword_model`.

        Raises:
            UserError: a missing or damaged file, or a model of another kind.
        """
        try:
            self.model = Path(path).read_bytes()
            self._processor = sentencepiece.SentencePieceProcessor(
                model_proto=self.model
            )
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from error
        except RuntimeError as error:
            raise UserError(f"{path}: not a SentencePiece model") from error
        self.vocab_size = len(self._processor)
        self.sha256 = hashlib.sha256(self.model).hexdigest()
        _check_pieces(path, self._processor)

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Splits sentences into subword ids, all threads at work.

        Args:
            sentences: any text; an unpaired surrogate is read as `?`. Control
                characters that are white space, and NUL, are read as a blank.

        Returns:
            One list for each sentence, empty for blank text. No id is special.
        """
        return self._processor.encode([_readable(text) for text in sentences])

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Joins subword ids to text; special ids are left out.

        Args:
            ids: one sequence for each sentence, padding allowed.

        Returns:
            One text for each sequence. Bytes that form no character become
            U+FFFD. Byte pieces can write line ends; they become blanks.
        """
        plain = [[int(i) for i in row if i > MASK_ID] for row in ids]
        return [unbroken(t) for t in self._processor.decode(plain)] if plain else []

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Returns the spelling of each id; words begin with `WORD_START`."""
        return [self._processor.id_to_piece(int(i)) for i in ids]

    def continuing_ids(self) -> list[int]:
        """Returns the ids of the subwords that do not begin a word."""
        pieces = self.pieces(range(self.vocab_size))
        return [i for i, p in enumerate(pieces) if not p.startswith(WORD_START)]

    def tokenizer(self) -> "tensorflow_text.SentencepieceTokenizer":
        """Returns the same model as TensorFlow ops, with int32 ids."""
        import tensorflow as tf
        import tensorflow_text

        return tensorflow_text.SentencepieceTokenizer(self.model, out_type=tf.int32)


def _check_pieces(
    path: str | os.PathLike[str], processor: sentencepiece.SentencePieceProcessor
) -> None:
    size = len(processor)
    if size % SIZE_MULTIPLE or size < len(_RESERVED_PIECES) + _NUM_BYTES:
        raise UserError(f"{path}: a vocabulary of {size} pieces, not a multiple of 8")
    try:
        pieces = [processor.id_to_piece(i) for i in range(size)]
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a SentencePiece model") from error
    for special_id, piece in _RESERVED_PIECES.items():
        if pieces[special_id] != piece:
            raise UserError(f"{path}: id {special_id} is not reserved for {piece}")
        # A text that spells a piece of another kind would reach its id.
        unknown = special_id == UNK_ID
        if not (processor.is_unknown if unknown else processor.is_control)(special_id):
            kind = "the unknown piece" if unknown else "a control symbol"
            raise UserError(f"{path}: id {special_id} ({piece}) is not {kind}")
    if sum(map(processor.is_byte, range(size))) != _NUM_BYTES:
        raise UserError(f"{path}: trained without byte fallback")
