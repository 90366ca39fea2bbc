"""The REST interface of TensorFlow Serving."""

import http.client
import json
import socket
from collections.abc import Sequence
from typing import Any

from cmlm_tf.serving.wire import (
    SIGNATURE,
    Refused,
    ServerError,
    Unavailable,
    one_clean_line,
    read_error,
    request_inputs,
)

_UNAVAILABLE = 503
_NO_TRANSLATIONS = ServerError("the server's answer holds no translations")


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
            late = ServerError(f"no answer in {timeout:.3g} s")
            raise Refused("DEADLINE_EXCEEDED", late) from error
        except OSError as error:
            raise Unavailable(one_clean_line(str(error))) from error
        except http.client.HTTPException as error:
            other = ServerError("no HTTP answer; is this the gRPC port?")
            raise Refused("", other) from error
        if status == _UNAVAILABLE:
            raise Unavailable(f"HTTP {status}: {read_error(_error(content)).text}")
        if status != http.client.OK:
            raise Refused(f"HTTP {status}", read_error(_error(content)))
        return _translations(content)

    def _post(self, body: bytes, timeout: float) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._server, timeout=timeout)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", self._path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except socket.gaierror as error:
            raise Refused(self._server, ServerError(str(error.strerror))) from error
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
        raise Refused("", _NO_TRANSLATIONS) from error
    if not (isinstance(texts, list) and all(isinstance(t, str) for t in texts)):
        raise Refused("", _NO_TRANSLATIONS)
    return texts


def _error(content: bytes) -> str:
    """Returns the message of an error's JSON, or else its bytes."""
    try:
        return str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        return content.decode("utf-8", "replace")
