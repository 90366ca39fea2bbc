"""The client over real gRPC on loopback, and the examples for REST."""

import contextlib
import json
import re
import socket
import tempfile
import threading
import time
from pathlib import Path

import grpc
import pytest
import tensorflow as tf
from absl.testing import parameterized
from tensorflow_serving.apis import prediction_service_pb2_grpc

from cmlm_tf.errors import UserError
from cmlm_tf.serving import client, grpc_client
from tests.commands import run_command
from tests.serving import exported
from tests.serving.exported import LINES, MAX_LENGTH
from tests.serving.server import grpc_server

THRESH = {"heuristic": "thresh", "setting": exported.SETTINGS["thresh"]}


class ClientTest(tf.test.TestCase, parameterized.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.servable = exported.servable()
        self.servable.failures = 0
        self.servable.requests.clear()

    def ask(self, address, lines, options=None, **calling):
        source, output = self.folder / "in", self.folder / "out"
        source.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        called = client.Calling(address, **calling)
        client.translate_file(called, str(source), str(output), options or {})
        return output.read_text(encoding="utf-8").split("\n")[:-1]

    def translate(self, lines, options=None, **calling):
        with grpc_server(self.servable) as address:
            return self.ask(address, lines, options, **calling)

    def test_one_line_for_each_line(self):
        expected = [found.text for found in exported.translations("thresh")]
        self.assertEqual(self.translate(LINES, THRESH, batch_size=3), expected)
        self.assertCountEqual(self.servable.requests, [3, 3, 1])
        self.assertEqual(self.translate([]), [])
        self.assertLen(self.servable.requests, 3)

    def test_unavailable_is_tried_again(self):
        # More than gRPC sends again by default, but for its buffer's size.
        lines = [*LINES, *[" " * client.LONGEST_LINE] * 3]
        expected = [found.text for found in exported.translations("thresh")] + [""] * 3
        self.servable.failures = 2
        found = self.translate(lines, THRESH, retries=2, concurrency=1)
        self.assertEqual(found, expected)
        for retries, tries in ((0, 1), (1, 2)):
            self.servable.failures = 9
            with self.assertRaisesRegex(UserError, "unavailable: .*try again"):
                self.translate(LINES, retries=retries, concurrency=1)
            self.assertEqual(self.servable.failures, 9 - tries)
        for retries, attempts in ((3, 4), (4, 5), (5, 5), (9, 5)):
            config = json.loads(grpc_client.service_config(retries))
            policy = config["methodConfig"][0]["retryPolicy"]
            self.assertEqual(policy["maxAttempts"], attempts)

    def test_a_refused_line_is_named_and_nothing_is_written(self):
        long = "tree " * MAX_LENGTH
        for lines, named in (
            (["a house"] * 3 + [long], "line 4"),
            (["a house"] * 4 + [long], "line 5"),
            ([long, "tree", "tree", long], "lines 1, 4"),
            (["tree"] * 4 + [long] * 20, "lines 5 to 12 and more"),
        ):
            message = f"in, {named}: INVALID_ARGUMENT: text: more than 39 subwords$"
            with self.assertRaisesRegex(UserError, message):
                self.translate(lines, batch_size=len(lines) // 4 * 4)
        message = "in, lines 1 to 2: INVALID_ARGUMENT: setting: "
        with self.assertRaisesRegex(UserError, message):
            self.translate(["tree"] * 2, {"setting": 7.0})
        self.assertEqual([path.name for path in self.folder.iterdir()], ["in"])

    def test_a_very_long_line_is_named_and_not_sent(self):
        lines = ["a house", " " * client.LONGEST_LINE, "a" * (client.LONGEST_LINE + 1)]
        message = "in, line 3: 100001 characters, more than 100000$"
        with self.assertRaisesRegex(UserError, message):
            self.translate(lines)
        self.assertEmpty(self.servable.requests)

    def test_no_server(self):
        with grpc_server(self.servable) as address:
            pass
        with self.assertRaisesRegex(UserError, f"{address}: unavailable"):
            self.ask(address, ["a house"], retries=1)

    def test_a_port_that_does_not_speak_grpc(self):
        with _port(b"HTTP/1.1 400 Bad\r\n\r\n\x1b[31mred\x07\nend") as address:
            message = "UNAVAILABLE: .*; is this the REST port\\?$"
            with self.assertRaisesRegex(UserError, message) as caught:
                self.ask(address, ["a house"], retries=0)
        self.assertTrue(str(caught.exception).isprintable())

    def test_a_deadline_is_kept(self):
        with _port() as address:
            start = time.monotonic()
            with self.assertRaisesRegex(UserError, "in, line 1: DEADLINE_EXCEEDED: "):
                self.ask(address, ["a house"], deadline=0.3)
            self.assertLess(time.monotonic() - start, 30)

    @parameterized.parameters(
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"retries": -1}, "retries must not be below 0"),
        ({"deadline": 0.0}, "deadline must be above 0"),
    )
    def test_bad_calls(self, fields, message):
        with self.assertRaisesRegex(UserError, message):
            client.Calling("localhost:1", **fields)

    def test_servers(self):
        bad = "localhost,localhost:,:8500,localhost:0,localhost:65536,localhost:-1,"
        bad += "localhost:99999999999,localhost:http,localhost:\u0661,::1:8500,"
        bad += "http://localhost:8500,localhost:8500/v1,local host:8500"
        for name in ["", *bad.split(",")]:
            message = "^server must be host:port, the port from 1 to 65535, not "
            with self.assertRaisesRegex(UserError, message + re.escape(name) + "$"):
                client.Calling(name)
        for name in ("localhost:1", "a-b.example:65535", "[::1]:8500"):
            self.assertEqual(client.Calling(name).server, name)

    def test_no_more_at_a_time_than_asked_for(self):
        lock, now, most = threading.Lock(), 0, 0

        def work(item):
            nonlocal now, most
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.01)
            with lock:
                now -= 1
            return -item

        found = list(client.in_order(work, iter(range(20)), 3))
        self.assertEqual(found, [-i for i in range(20)])
        self.assertLessEqual(most, 3)


class ProtocolTest(tf.test.TestCase):
    """What a server makes of requests that another client sends."""

    def setUp(self):
        super().setUp()
        exported.servable().failures = 0

    def test_defaults_and_wrong_types_over_grpc(self):
        wrong = {"heuristic": [1.0], "length_beam": [0.5], "max_iterations": ["a"]}
        wrong |= {"setting": ["a"], "target_speedup": ["a"], "text": [1.0]}
        inputs = exported.inputs_of("serving_default", [["a house"]])
        self.assertEqual(sorted(wrong), sorted(inputs))
        with (
            grpc_server(exported.servable()) as address,
            contextlib.closing(grpc.insecure_channel(address)) as channel,
        ):
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            request = grpc_client.predict_request({"text": ["a house"]}, "m")
            response = stub.Predict(request, 60)
            for place, name in enumerate(sorted(wrong)):
                request = grpc_client.predict_request(inputs, "m")
                request.inputs[name].CopyFrom(tf.make_tensor_proto(wrong[name]))
                with self.assertRaises(grpc.RpcError) as caught:
                    stub.Predict(request, 60)
                code, details = caught.exception.code(), caught.exception.details()
                self.assertEqual(code, grpc.StatusCode.INVALID_ARGUMENT)
                self.assertStartsWith(details, f"Expects arg[{place}] to be ")
        found = {
            name: exported.as_list(tf.make_ndarray(tensor))
            for name, tensor in response.outputs.items()
        }
        self.assertEqual(found, exported.call("serving_default", [["a house"]]))

    def test_the_rest_examples_of_the_documentation(self):
        text = (Path(__file__).parents[2] / "docs" / "serving.md").read_text("utf-8")
        plain, chosen = re.findall(r"curl -d '([^']*)'", text)
        found = _post(plain)
        self.assertEqual(found, exported.call("text_only", [["a house"]]))
        expected = exported.call("serving_default", [["a house"]], THRESH)
        self.assertEqual(_post(chosen), expected)


def _post(body):
    """What the REST API of TensorFlow Serving answers, with outputs by name.

    Instances that are no objects are values of the only input; each object, and
    inputs, must have every input of the signature by its name.
    """
    request = json.loads(body)
    name = request.get("signature_name", "serving_default")
    names = set(exported.servable().signatures[name].inputs)
    columns = request.get("inputs")
    if columns is None:
        (only,) = names
        columns = {only: request["instances"]}
    assert set(columns) == names
    outputs = exported.servable().predict(name, exported.arrays(columns))
    return {key: exported.as_list(value) for key, value in outputs.items()}


@contextlib.contextmanager
def _port(answer=None):
    """A port that gives one answer to whoever connects, or none."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    with listener.accept()[0] as connection:
                        connection.recv(9999)
                        connection.sendall(answer)

        if answer:
            threading.Thread(target=serve, daemon=True).start()
        yield "{}:{}".format(*listener.getsockname())
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "flag --server is needed"),
        (["--server=h:1"], "grpc is missing: the extra serving has it"),
        (
            ["--server=h:1", "--length_beam=0"],
            "flag --length_beam=0: must be",
        ),
        (
            ["--server=h:1", "--max_iterations=1000001"],
            "flag --max_iterations=1000001: must be from 1 to 1000000",
        ),
    ],
)
def test_one_line_without_the_extra(flags, message):
    missing = ("grpc", "tensorflow_serving")
    process = run_command("bin/translate_client.py", *flags, missing=missing)
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1].startswith(f"error: {message}")
    assert "Traceback" not in process.stderr


if __name__ == "__main__":
    tf.test.main()
