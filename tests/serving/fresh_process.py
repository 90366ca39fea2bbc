"""What a process does that knows TensorFlow and tensorflow_text, not the package."""

import json
import sys

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session


def run(export, requests):
    """Loads a SavedModel and calls it.

    Args:
        export: its folder.
        requests: for each call the inputs of serving_default.

    Returns:
        The outputs, the names of the ops that TensorFlow itself has, and the modules
        of the package that were imported.
    """
    ops = op_def_pb2.OpList.FromString(
        pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    )
    import tensorflow_text  # noqa: F401  (the graph has its ops)

    function = tf.saved_model.load(export).signatures["serving_default"]
    specs = function.structured_input_signature[1]
    outputs = []
    for inputs in requests:
        tensors = {n: tf.constant(v, specs[n].dtype) for n, v in inputs.items()}
        outputs.append({n: _plain(x.numpy()) for n, x in function(**tensors).items()})
    ours = [name for name in sys.modules if name.split(".")[0] == "cmlm_tf"]
    return {"outputs": outputs, "core_ops": [op.name for op in ops.op], "ours": ours}


def _plain(array):
    if array.dtype == object:
        return [value.decode() for value in array.ravel()]
    return array.tolist()


if __name__ == "__main__":
    json.dump(run(sys.argv[1], json.load(sys.stdin)), sys.stdout)
