"""The REST interface of TensorFlow Serving."""

import http.client
import json
import socket
from collections.abc import Sequence
from typing import Any

from cmlm_tf.serving.wire import (
    SIGNATURE,
    Refused,
    Unavailable,
    error_line,
    request_inputs,
)

_UNAVAILABLE = 503


class RestClient:
    """Asks one model of a server."""

    def __init__(self, server: str, model: str):
        """Takes `host:port`; nothing is sent yet."""
        self._server, self._path = server, f"/v1/models/{model}:predict"

    def __enter__(self) -> "RestClient":
        """Returns itself."""
        return self

    def __exit__(self, *exception) -> None:
        """Does nothing: a connection lives as long as its request."""

    def translate(
        self, texts: Sequence[str], options: dict[str, Any], timeout: float
    ) -> list[str]:
        """Translates a batch; see `GrpcClient.translate`."""
        inputs = request_inputs(texts, options)
        body = json.dumps({"signature_name": SIGNATURE, "inputs": inputs})
        try:
            status, content = self._post(body.encode("utf-8"), timeout)
        except TimeoutError as error:
            raise Refused(f"DEADLINE_EXCEEDED: no answer in {timeout:.1f} s") from error
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(str(error)) from error
        if status != http.client.OK:
            kind = Unavailable if status == _UNAVAILABLE else Refused
            raise kind(f"HTTP {status}: {error_line(_error(content))}")
        return _translations(content)

    def _post(self, body: bytes, timeout: float) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._server, timeout=timeout)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", self._path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except socket.gaierror as error:
            raise Refused(f"{self._server}: {error.strerror}") from error
        finally:
            connection.close()


def _translations(content: bytes) -> list[str]:
    """Reads an answer.

    >>> _translations(b'{"outputs": {"translation": ["ein Haus"]}}')
    ['ein Haus']

    Raises:
        Refused: it is none of a server of such models.
    """
    try:
        texts = json.loads(content)["outputs"]["translation"]
    except (ValueError, KeyError, TypeError) as error:
        raise Refused("the server's answer holds no translations") from error
    if not (isinstance(texts, list) and all(isinstance(t, str) for t in texts)):
        raise Refused("the server's answer holds no translations")
    return texts


def _error(content: bytes) -> str:
    """Returns the message of an error's JSON, or else its bytes."""
    try:
        return str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        return content.decode("utf-8", "replace")
