"""Requests that a server replays when it loads a model, before users ask."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.serving.requests import DTYPES, request_inputs
from cmlm_tf.special_ids import MASK_ID, MASK_PIECE

#: Where TensorFlow Serving looks, in the folder of a version.
WARMUP_FILE = Path("assets.extra") / "tf_serving_warmup_requests"

_DEFAULT = "serving_default"
_ONE_PASS = {"heuristic": "mask_predict", "setting": 1.0}

Requests = Iterator[tuple[str, dict[str, Any]]]


def write_warmup(folder: Path, requests: Requests) -> None:
    """Writes requests into the folder of a version.

    Args:
        folder: of the SavedModel.
        requests: names of signatures and their inputs.
    """
    path = folder / WARMUP_FILE
    path.parent.mkdir()
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in requests:
            writer.write(prediction_log(signature, inputs))


def prediction_log(signature: str, inputs: dict[str, Any]) -> bytes:
    """Returns a request as the `PredictionLog` message of TensorFlow Serving.

    The few fields that it needs are written here: an export then does without
    tensorflow-serving-api, where the messages are declared.

    Args:
        signature: its name.
        inputs: values by input name.
    """
    # PredictRequest: model_spec = 1, and in it signature_name = 3; inputs = 2, a map
    # whose entries have key = 1 and value = 2.
    request = _field(1, _field(3, signature.encode()))
    for name, values in inputs.items():
        tensor = tf.make_tensor_proto(values, DTYPES.get(name)).SerializeToString()
        request += _field(2, _field(1, name.encode()) + _field(2, tensor))
    # PredictionLog: predict_log = 6, and in it request = 1.
    return _field(6, _field(1, request))


def _field(number: int, content: bytes) -> bytes:
    r"""Returns a field of a protobuf message: number, length and content.

    >>> _field(1, b"text"), _field(2, bytes(300))[:3]
    (b'\n\x04text', b'\x12\xac\x02')
    """
    header, size = [number << 3 | 2], len(content)
    while size >= 128:  # Seven bits a byte, the lowest first.
        header.append(size & 127 | 128)
        size >>= 7
    return bytes([*header, size]) + content


def every_signature(subwords: SubwordModel) -> Requests:
    """Yields a request of one text for each signature."""
    text = text_of(subwords, 3)
    inputs = request_inputs([text], _ONE_PASS)
    options = {name: value for name, value in inputs.items() if name != "text"}
    for signature in (_DEFAULT, "nbest", "trace"):
        yield signature, inputs
    yield "text_only", {"text": [text]}
    yield "decode_ids", {"ids": [subwords.encode([text])[0]], **options}
    yield "complete", inputs | {"partial": [MASK_PIECE]}
    yield "score", inputs | {"translation": [text]}


def every_shape(
    subwords: SubwordModel,
    lengths: Sequence[int],
    batch_sizes: Sequence[int],
    beams: Sequence[int],
) -> Requests:
    """Yields requests that bring a compiled model to each of its shapes.

    A text has the fewest subwords that are padded to a length: its translation
    then has room in the same shape. Translations come in every shape; completion
    and scoring in each length, for one text.

    Args:
        subwords: the model's.
        lengths: of sources, EOS included, to which they are padded; rising.
        batch_sizes: likewise.
        beams: likewise.
    """
    for before, length in zip((0, *lengths), lengths, strict=False):
        text = text_of(subwords, max(before, min(length - 1, 2)))
        for beam in beams:
            options = {**_ONE_PASS, "length_beam": beam}
            for size in batch_sizes:
                yield _DEFAULT, request_inputs([text] * size, options)
            one = request_inputs([text], options)
            yield "complete", one | {"partial": [MASK_PIECE]}
        yield "score", one | {"translation": [text]}


def text_of(subwords: SubwordModel, num_subwords: int) -> str:
    """Returns a text of that many subwords: one word again and again.

    Args:
        subwords: the subword model.
        num_subwords: at least 1.
    """
    for first in range(MASK_ID + 1, subwords.vocab_size):
        (word,) = subwords.decode([[first]])
        text = " ".join([word] * num_subwords)
        if word.isalpha() and len(subwords.encode([text])[0]) == num_subwords:
            return text
    return "a " * num_subwords
