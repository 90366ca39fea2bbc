"""Answers of something that is no server of such models."""

import socket
import threading

import pytest

from cmlm_tf.serving.rest_client import RestClient, _translations
from cmlm_tf.serving.wire import Refused


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"\xff",
        b"[]",
        b'{"predictions": [1]}',
        b'{"outputs": ["x"]}',
        b'{"outputs": {"translation": [1]}}',
    ],
)
def test_other_answers_are_refused(content):
    with pytest.raises(Refused, match="no translations"):
        _translations(content)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"\x00\x1b[31m\r\n\r\n", "no HTTP answer; is this the gRPC port?"),
        (
            b"HTTP/1.1 400 Bad\r\n\r\n\x1b[31mred\x07\nend",
            "HTTP 400: [31mred end",
        ),
    ],
)
def test_no_control_character_is_shown(answer, message):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with listener.accept()[0] as connection:
                connection.recv(9999)
                connection.sendall(answer)
                # What is closed with a part unread resets the connection.
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(9999):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        client = RestClient("{}:{}".format(*listener.getsockname()), "m")
        with pytest.raises(Refused) as caught:
            client.translate(["a house"], {}, timeout=20)
        thread.join()
    assert str(caught.value) == message


def test_a_short_deadline_is_named():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = RestClient("{}:{}".format(*listener.getsockname()), "m")
        with pytest.raises(Refused, match=r"no answer in 0\.01 s$"):
            client.translate(["a house"], {}, timeout=0.01)
