"""A server for the tests: TensorFlow Serving's gRPC over a loaded SavedModel."""

import concurrent.futures
import contextlib

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

_STATUS = {
    tf.errors.InvalidArgumentError: grpc.StatusCode.INVALID_ARGUMENT,
    tf.errors.UnavailableError: grpc.StatusCode.UNAVAILABLE,
}


class _PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, servable):
        self._servable = servable

    def Predict(self, request, context):  # noqa: N802  (the protocol's name)
        inputs = {k: tf.make_ndarray(v) for k, v in request.inputs.items()}
        try:
            outputs = self._servable.predict(
                request.model_spec.signature_name, inputs, request.output_filter
            )
        except tuple(_STATUS) as error:
            context.abort(_STATUS[type(error)], error.message)
        response = predict_pb2.PredictResponse()
        for key, value in outputs.items():
            response.outputs[key].CopyFrom(tf.make_tensor_proto(value))
        return response


@contextlib.contextmanager
def grpc_server(servable):
    """Serves on loopback; yields `host:port`."""
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(64))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        _PredictionService(servable), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
