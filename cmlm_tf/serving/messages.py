"""The messages of TensorFlow Serving."""

from typing import Any

import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

from cmlm_tf.serving.requests import DTYPES
from cmlm_tf.serving.wire import SIGNATURE


def predict_request(
    inputs: dict[str, Any], model: str, signature: str = SIGNATURE
) -> predict_pb2.PredictRequest:
    """Returns the message that asks a model for a signature's outputs.

    Args:
        inputs: values by input name.
        model: name of the model.
        signature: name of the signature.
    """
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    for name, values in inputs.items():
        tensor = tf.make_tensor_proto(values, DTYPES.get(name))
        request.inputs[name].CopyFrom(tensor)
    return request
