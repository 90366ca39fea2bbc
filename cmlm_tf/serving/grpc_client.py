"""Asks TensorFlow Serving for translations over gRPC."""

import json
import re
from collections.abc import Sequence
from typing import Any

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from cmlm_tf.serving.requests import DTYPES, request_inputs

#: How often gRPC sends a request, the first time included: its own limit.
_MOST_ATTEMPTS = 5
_MAX_MESSAGE = 64 << 20
#: What gRPC says of a server that speaks HTTP/1.
_SIGNS_OF_HTTP = ("http1", "Failed parsing HTTP/2")
#: What a failed check of `checks.require` says, and what TensorFlow writes around it.
_REQUIREMENT = re.compile(
    r"assertion failed: \[(?:([^\]]*) \(rows\)\] \[([^\]]*)|([^\]]*))\]"
)


class RequestError(Exception):
    """A request that was refused, came too late or found no server.

    Attributes:
        is_unavailable: whether the server cannot be reached or takes no requests.
        rows: numbers of the rows at fault, from 0; none where the server names none.
        has_more: whether further rows are at fault.
    """

    def __init__(self, code: str, details: str):
        r"""Takes what gRPC says; the names of the graph's nodes are left out.

        >>> said = "assertion failed: [setting: too large (rows)] [0 2]\n\t [[{{a}}]]"
        >>> error = RequestError("INVALID_ARGUMENT", said)
        >>> str(error), error.rows
        ('INVALID_ARGUMENT: setting: too large', (0, 2))
        >>> said = "assertion failed: [text: the batch is empty]\n\t [[{{a}}]]"
        >>> str(RequestError("INVALID_ARGUMENT", said))
        'INVALID_ARGUMENT: text: the batch is empty'
        >>> str(RequestError("NOT_FOUND", "no\n\x1bmodel"))
        'NOT_FOUND: no model'
        """
        found = _REQUIREMENT.search(details)
        text, rows, alone = found.groups("") if found else (details, "", "")
        self.is_unavailable = code == grpc.StatusCode.UNAVAILABLE.name
        self.rows = tuple(map(int, re.findall("[0-9]+", rows)))
        self.has_more = "..." in rows
        is_http = any(sign in details for sign in _SIGNS_OF_HTTP)
        hint = "; is this the REST port?" if is_http else ""
        shown = (char if char.isprintable() else " " for char in text or alone)
        super().__init__(f"{code}: {' '.join(''.join(shown).split())}{hint}")


class GrpcClient:
    """Asks one model of a server."""

    def __init__(self, server: str, model: str, deadline: float, retries: int = 0):
        """Opens a channel; nothing is sent yet.

        Args:
            server: `host:port`.
            model: its name on the server.
            deadline: seconds for a request, its repetitions included.
            retries: how often gRPC sends a request again while the server is
                unavailable; more than 4 count as 4.
        """
        options = [
            ("grpc.max_send_message_length", _MAX_MESSAGE),
            ("grpc.max_receive_message_length", _MAX_MESSAGE),
            # What is larger would not be sent again.
            ("grpc.per_rpc_retry_buffer_size", _MAX_MESSAGE),
            ("grpc.service_config", service_config(retries)),
        ]
        self._channel = grpc.insecure_channel(server, options)
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._model, self._deadline = model, deadline

    def __enter__(self) -> "GrpcClient":
        """Returns itself."""
        return self

    def __exit__(self, *exception) -> None:
        """Closes the channel."""
        self._channel.close()

    def translate(self, texts: Sequence[str], options: dict[str, Any]) -> list[str]:
        """Translates a batch.

        Args:
            texts: one line each.
            options: values of the optional inputs.

        Raises:
            RequestError: there are no translations.
        """
        request = predict_request(request_inputs(texts, options), self._model)
        request.output_filter.append("translation")
        try:
            response = self._stub.Predict(request, self._deadline)
        except grpc.RpcError as error:
            raise RequestError(error.code().name, error.details() or "") from error
        array = tf.make_ndarray(response.outputs["translation"])
        return [text.decode("utf-8") for text in array]


def service_config(retries: int) -> str:
    """Returns gRPC's settings: send again what found the server unavailable."""
    if not retries:
        return "{}"
    policy = {
        "maxAttempts": min(retries + 1, _MOST_ATTEMPTS),
        "initialBackoff": "0.2s",
        "maxBackoff": "5s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    return json.dumps({"methodConfig": [{"name": [{}], "retryPolicy": policy}]})


def predict_request(inputs: dict[str, Any], model: str) -> predict_pb2.PredictRequest:
    """Returns the message that asks a model's `serving_default`.

    Args:
        inputs: values by input name.
        model: name of the model.
    """
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    for name, values in inputs.items():
        tensor = tf.make_tensor_proto(values, DTYPES.get(name))
        request.inputs[name].CopyFrom(tensor)
    return request
