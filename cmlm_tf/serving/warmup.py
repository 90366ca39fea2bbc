"""Requests that a server replays when it loads a model, before users ask."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.serving.messages import predict_request
from cmlm_tf.serving.wire import SIGNATURE, request_inputs
from cmlm_tf.special_ids import MASK_ID, MASK_PIECE

#: Where TensorFlow Serving looks, in the folder of a version.
WARMUP_FILE = Path("assets.extra") / "tf_serving_warmup_requests"

_ONE_PASS = {"heuristic": "mask_predict", "setting": 1.0}
_NUM_BYTES = 256

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
            log = prediction_log_pb2.PredictionLog()
            request = predict_request(inputs, "", signature)
            log.predict_log.request.CopyFrom(request)
            writer.write(log.SerializeToString())


def every_signature(subwords: SubwordModel) -> Requests:
    """Yields a request of one text for each signature."""
    text = text_of(subwords, 3)
    inputs = request_inputs([text], _ONE_PASS)
    options = {name: value for name, value in inputs.items() if name != "text"}
    for signature in (SIGNATURE, "nbest", "trace"):
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
                yield SIGNATURE, request_inputs([text] * size, options)
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
