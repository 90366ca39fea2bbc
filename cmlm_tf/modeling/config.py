"""The sizes of a Transformer."""

import dataclasses

from cmlm_tf.errors import UserError

#: Largest value that each size may have; a damaged file must not fill memory.
_LARGEST = {
    "vocab_size": 1 << 20,
    "model_dim": 1 << 14,
    "num_heads": 1 << 8,
    "feed_forward_dim": 1 << 16,
    "num_encoder_layers": 1 << 8,
    "num_decoder_layers": 1 << 8,
    "max_length": 1 << 14,
}


@dataclasses.dataclass(frozen=True)
class TransformerConfig:
    """Sizes shared by teacher and student; the defaults are Transformer base.

    Attributes:
        vocab_size: subwords, special ids included; a multiple of 8.
        model_dim: width of embeddings and layers.
        num_heads: attention heads; divides `model_dim`.
        feed_forward_dim: inner width of the feed-forward layers.
        num_encoder_layers: layers of the encoder.
        num_decoder_layers: layers of the decoder.
        dropout: rate in training, 0 <= dropout < 1.
        max_length: longest source or target in subwords, EOS included; also
            the number of length classes of the student.
    """

    vocab_size: int
    model_dim: int = 512
    num_heads: int = 8
    feed_forward_dim: int = 2048
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    dropout: float = 0.1
    max_length: int = 256

    def __post_init__(self):
        for name, largest in _LARGEST.items():
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= largest:
                raise UserError(
                    f"model.{name} must be a whole number from 1 to {largest}, "
                    f"not {value!r}"
                )
        if self.vocab_size % 8:
            raise UserError(
                f"model.vocab_size must be a multiple of 8, not {self.vocab_size}"
            )
        if self.model_dim % self.num_heads or self.model_dim % 2:
            raise UserError(
                f"model.model_dim must be even and a multiple of model.num_heads, "
                f"not {self.model_dim} with {self.num_heads} heads"
            )
        if not isinstance(self.dropout, (int, float)) or not 0 <= self.dropout < 1:
            raise UserError(f"model.dropout must be in [0, 1), not {self.dropout!r}")
