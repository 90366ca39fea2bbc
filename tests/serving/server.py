"""A server for the tests: TensorFlow Serving's protocols over a loaded SavedModel.

It does what the stock server does with a request: it fills in the signature's
defaults, runs the session of the SavedModel's loader and maps its errors to codes.
"""

import collections
import concurrent.futures
import contextlib
import functools
import http.server
import json
import threading

import grpc
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (its ops are in the graph)
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from tests.serving import exported

_STATUS = {
    tf.errors.InvalidArgumentError: (grpc.StatusCode.INVALID_ARGUMENT, 400),
    tf.errors.FailedPreconditionError: (grpc.StatusCode.FAILED_PRECONDITION, 400),
    tf.errors.UnavailableError: (grpc.StatusCode.UNAVAILABLE, 503),
}


class Servable:
    """A SavedModel in the session that serves it.

    Attributes:
        failures: how many of the next requests find the server unavailable.
        requests: the sizes of the batches that were run.
    """

    def __init__(self, path):
        self.failures, self.requests = 0, collections.deque(maxlen=1000)
        self._session = tf.compat.v1.Session(graph=tf.Graph())
        with self._session.graph.as_default():
            meta_graph = tf.compat.v1.saved_model.loader.load(
                self._session, ["serve"], str(path)
            )
        self.signatures = meta_graph.signature_def

    def predict(self, name, inputs, wanted=()):
        """Runs a signature.

        Args:
            name: of the signature; empty for serving_default.
            inputs: arrays by input name.
            wanted: output names; all if empty.
        """
        if self.failures:
            self.failures -= 1
            raise tf.errors.UnavailableError(None, None, "try again")
        signature = self.signatures.get(name or "serving_default")
        if signature is None:
            raise tf.errors.FailedPreconditionError(
                None, None, f'Serving signature key "{name}" not found.'
            )
        unknown = set(inputs) - set(signature.inputs)
        missing = set(signature.inputs) - set(inputs) - set(signature.defaults)
        if unknown or missing:
            raise tf.errors.InvalidArgumentError(
                None,
                None,
                "input size does not match signature. Sent extra: "
                f"{sorted(unknown)}. Missing but required: {sorted(missing)}.",
            )
        fed = {k: tf.make_ndarray(v) for k, v in signature.defaults.items()} | inputs
        self.requests.append(len(next(iter(inputs.values()))))
        fetched = {
            key: info.name
            for key, info in signature.outputs.items()
            if not wanted or key in wanted
        }
        return self._run(
            fetched, {signature.inputs[key].name: value for key, value in fed.items()}
        )

    def _run(self, fetched, fed):
        """Calls the session as C++ does: what Python's converts is not converted."""

        def tensor(name):
            return self._session.graph.get_tensor_by_name(name)._as_tf_output()

        feeds = {tensor(name): value for name, value in fed.items()}
        fetches = [tensor(name) for name in fetched.values()]
        values = self._session._call_tf_sessionrun(None, feeds, fetches, [], None)
        return dict(zip(fetched, values, strict=True))


@functools.cache
def tiny_servable():
    """The servable of the tiny student, shared by the tests."""
    return Servable(exported.export_dir())


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
            context.abort(_STATUS[type(error)][0], error.message)
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


class _Handler(http.server.BaseHTTPRequestHandler):
    servable: Servable

    def do_POST(self):  # noqa: N802  (the library's name)
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = request.get("signature_name", "serving_default")
        try:
            columns = _columns(request, self.servable.signatures[name])
            outputs = self.servable.predict(name, columns)
            self._answer(200, _as_json(request, outputs))
        except tuple(_STATUS) as error:
            self._answer(_STATUS[type(error)][1], {"error": error.message})

    def _answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Keeps silent."""


def _columns(request, signature):
    """The inputs of a request by rows or columns; all must be named."""
    names = list(signature.inputs)
    if "inputs" in request:
        columns = request["inputs"]
        if not isinstance(columns, dict):
            columns = {names[0]: columns}
    else:
        rows = request["instances"]
        rows = [row if isinstance(row, dict) else {names[0]: row} for row in rows]
        columns = {key: [row[key] for row in rows] for key in rows[0]}
    for name in names:
        if name not in columns:
            raise tf.errors.InvalidArgumentError(
                None, None, f"Missing named input: {name} in 'inputs' object."
            )
    return {
        name: np.array(
            values, tf.dtypes.as_dtype(signature.inputs[name].dtype).as_numpy_dtype
        )
        for name, values in columns.items()
    }


def _as_json(request, outputs):
    columns = {
        key: tf.nest.map_structure(_plain, value.tolist())
        for key, value in outputs.items()
    }
    if "inputs" in request:
        return {"outputs": columns}
    rows = zip(*columns.values(), strict=True)
    return {"predictions": [dict(zip(columns, row, strict=True)) for row in rows]}


def _plain(value):
    return value.decode() if isinstance(value, bytes) else value


@contextlib.contextmanager
def rest_server(servable):
    """Serves on loopback; yields `host:port`."""
    handler = type("Handler", (_Handler,), {"servable": servable})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield "{}:{}".format(*server.server_address)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
