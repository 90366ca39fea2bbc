"""The PredictionService of TensorFlow Serving over gRPC."""

from collections.abc import Sequence
from typing import Any

import grpc
import tensorflow as tf
from tensorflow_serving.apis import prediction_service_pb2_grpc

from cmlm_tf.serving.messages import predict_request
from cmlm_tf.serving.wire import Refused, Unavailable, error_line, request_inputs

_MAX_MESSAGE = 64 << 20


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
            kind = (
                Unavailable if error.code() == grpc.StatusCode.UNAVAILABLE else Refused
            )
            details = error_line(error.details() or "")
            raise kind(f"{error.code().name}: {details}") from error
        array = tf.make_ndarray(response.outputs["translation"])
        return [text.decode("utf-8") for text in array]
