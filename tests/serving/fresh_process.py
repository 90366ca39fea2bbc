"""Loads a SavedModel with TensorFlow alone: fresh_process.py EXPORT < REQUESTS.

Reads a JSON list of [signature, inputs] and writes their outputs as JSON, with the
names of all ops that TensorFlow itself has.
"""

import json
import sys


def main():
    import tensorflow as tf
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    ops = op_def_pb2.OpList.FromString(
        pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    )
    import tensorflow_text  # noqa: F401  (the graph has its ops)

    module = tf.saved_model.load(sys.argv[1])
    outputs = []
    for signature, inputs in json.load(sys.stdin):
        function = module.signatures[signature]
        specs = function.structured_input_signature[1]
        result = function(
            **{n: tf.constant(v, specs[n].dtype) for n, v in inputs.items()}
        )
        outputs.append({name: _plain(value.numpy()) for name, value in result.items()})
    ours = [name for name in sys.modules if name.split(".")[0] == "cmlm_tf"]
    json.dump(
        {"outputs": outputs, "core_ops": [op.name for op in ops.op], "ours": ours},
        sys.stdout,
    )


def _plain(array):
    if array.dtype == object:
        return [value.decode() for value in array.ravel()]
    return array.tolist()


if __name__ == "__main__":
    main()
