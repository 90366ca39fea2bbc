"""The PredictionService of TensorFlow Serving over gRPC."""

from collections.abc import Sequence
from typing import Any

import grpc
import tensorflow as tf
from tensorflow_serving.apis import prediction_service_pb2_grpc

from cmlm_tf.serving.messages import predict_request
from cmlm_tf.serving.wire import Refused, Unavailable, read_error, request_inputs

_MAX_MESSAGE = 64 << 20
#: What gRPC says of a server that speaks HTTP/1.
_SIGNS_OF_HTTP = ("http1", "Failed parsing HTTP/2")


class GrpcClient:
    """Asks one model of a server."""

    def __init__(self, server: str, model: str):
        """Opens a channel to `host:port`; nothing is sent yet."""
        limits = [
            ("grpc.max_send_message_length", _MAX_MESSAGE),
            ("grpc.max_receive_message_length", _MAX_MESSAGE),
        ]
        self._channel = grpc.insecure_channel(server, limits)
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._model = model

    def __enter__(self) -> "GrpcClient":
        """Returns itself."""
        return self

    def __exit__(self, *exception) -> None:
        """Closes the channel."""
        self._channel.close()

    def translate(
        self, texts: Sequence[str], options: dict[str, Any], timeout: float
    ) -> list[str]:
        """Translates a batch.

        Args:
            texts: one line each.
            options: values of the optional inputs.
            timeout: seconds.

        Raises:
            Unavailable: the server says so or cannot be reached.
            Refused: any other failure.
        """
        request = predict_request(request_inputs(texts, options), self._model)
        request.output_filter.append("translation")
        try:
            response = self._stub.Predict(request, timeout)
        except grpc.RpcError as error:
            code, said = error.code().name, read_error(error.details() or "")
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise Refused(code, said) from error
            is_http = any(sign in said.text for sign in _SIGNS_OF_HTTP)
            hint = "; is this the REST port?" if is_http else ""
            raise Unavailable(f"{code}: {said.text}{hint}") from error
        array = tf.make_ndarray(response.outputs["translation"])
        return [text.decode("utf-8") for text in array]
