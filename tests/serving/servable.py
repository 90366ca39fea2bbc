"""A SavedModel as TensorFlow Serving runs it."""

import collections

import tensorflow as tf
import tensorflow_text  # noqa: F401  (its ops are in the graph)


class Servable:
    """A SavedModel in the session that serves it.

    It does what the stock server does with a request: it fills in the signature's
    defaults and runs the session of the SavedModel's loader.

    Attributes:
        failures: how many of the next requests find the server unavailable.
        requests: the sizes of the batches that were run.
        signatures: definitions by name.
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
        signature = self.signatures[name or "serving_default"]
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
