"""The client over real gRPC and HTTP on loopback."""

import contextlib
import functools
import http.client
import json
import re
import socket
import tempfile
import threading
import time
from pathlib import Path

import grpc
import tensorflow as tf
from absl.testing import parameterized
from tensorflow_serving.apis import prediction_service_pb2_grpc

from cmlm_tf.errors import UserError
from cmlm_tf.serving import client, messages
from cmlm_tf.translate.options import UnmaskingOptions
from tests.serving import exported, server
from tests.serving.exported import LINES, MAX_LENGTH

SERVERS = {"grpc": server.grpc_server, "rest": server.rest_server}


@functools.cache
def expected(tau):
    translations = exported.translator().translate(
        LINES, UnmaskingOptions("thresh", tau)
    )
    return [translation.text for translation in translations]


class ClientTest(tf.test.TestCase, parameterized.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        server.tiny_servable().failures = 0
        server.tiny_servable().requests.clear()

    def translate(self, protocol, lines, options=None, **calling):
        source, output = self.folder / "in", self.folder / "out"
        source.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        with SERVERS[protocol](server.tiny_servable()) as address:
            client.translate_file(
                client.Calling(address, protocol, **calling),
                str(source),
                str(output),
                options or {},
            )
        return output.read_text(encoding="utf-8").split("\n")[:-1]

    @parameterized.product(protocol=list(SERVERS), tau=[0.1, 0.9])
    def test_one_line_for_each_line(self, protocol, tau):
        options = {"heuristic": "thresh", "setting": tau}
        found = self.translate(protocol, LINES, options, batch_size=3)
        self.assertEqual(found, expected(tau))
        self.assertCountEqual(server.tiny_servable().requests, [3, 3, 1])

    def test_no_lines(self):
        self.assertEqual(self.translate("grpc", []), [])
        self.assertEmpty(server.tiny_servable().requests)

    @parameterized.parameters(*SERVERS)
    def test_unavailable_is_tried_again(self, protocol):
        server.tiny_servable().failures = 2
        options = {"heuristic": "thresh", "setting": 0.1}
        found = self.translate(protocol, LINES, options, retries=2, concurrency=1)
        self.assertEqual(found, expected(0.1))
        server.tiny_servable().failures = 9
        with self.assertRaisesRegex(UserError, "unavailable: .*try again"):
            self.translate(protocol, LINES, retries=1, concurrency=1)
        self.assertEqual(server.tiny_servable().failures, 7)

    @parameterized.parameters(*SERVERS)
    def test_a_refused_line_is_named_and_nothing_is_written(self, protocol):
        long = "tree " * MAX_LENGTH
        code = {"grpc": "INVALID_ARGUMENT", "rest": "HTTP 400"}[protocol]
        for lines, named in (
            (["a house"] * 3 + [long], "line 4"),
            (["a house"] * 4 + [long], "line 5"),
            ([long, "tree", "tree", long], "lines 1, 4"),
            (["tree"] * 4 + [long] * 20, "lines 5 to 12 and more"),
        ):
            message = f"in, {named}: {code}: text: more than 39 subwords$"
            with self.assertRaisesRegex(UserError, message):
                self.translate(protocol, lines, batch_size=len(lines) // 4 * 4)
        with self.assertRaisesRegex(UserError, f"in, lines 1 to 2: {code}: setting: "):
            self.translate(protocol, ["tree"] * 2, {"setting": 7.0})
        self.assertEqual([path.name for path in self.folder.iterdir()], ["in"])

    @parameterized.parameters(*SERVERS)
    def test_a_very_long_line_is_named_and_not_sent(self, protocol):
        lines = ["a house", " " * client.LONGEST_LINE, "a" * (client.LONGEST_LINE + 1)]
        message = "in, line 3: 100001 characters, more than 100000$"
        with self.assertRaisesRegex(UserError, message):
            self.translate(protocol, lines)
        self.assertEqual(self.translate(protocol, lines[1:2]), [""])

    def test_a_wrong_type_is_refused_by_its_place_in_the_alphabet(self):
        wrong = {"heuristic": [1.0], "length_beam": [0.5], "max_iterations": ["a"]}
        wrong |= {"setting": ["a"], "target_speedup": ["a"], "text": [1.0]}
        inputs = exported.inputs_of("serving_default", [["a house"]], {})
        self.assertEqual(sorted(wrong), sorted(inputs))
        with (
            server.grpc_server(server.tiny_servable()) as address,
            contextlib.closing(grpc.insecure_channel(address)) as channel,
        ):
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            for place, name in enumerate(sorted(wrong)):
                request = messages.predict_request(inputs, "m")
                request.inputs[name].CopyFrom(tf.make_tensor_proto(wrong[name]))
                with self.assertRaises(grpc.RpcError) as caught:
                    stub.Predict(request, 60)
                code, details = caught.exception.code(), caught.exception.details()
                self.assertEqual(code, grpc.StatusCode.INVALID_ARGUMENT)
                self.assertStartsWith(details, f"Expects arg[{place}] to be ")

    @parameterized.parameters(
        ("grpc", "rest", "no HTTP answer; is this the gRPC port\\?$"),
        ("rest", "grpc", "UNAVAILABLE: .*; is this the REST port\\?$"),
    )
    def test_the_port_of_the_other_protocol(self, kind, protocol, message):
        source = self.folder / "in"
        source.write_text("a house\n")
        with SERVERS[kind](server.tiny_servable()) as address:
            calling = client.Calling(address, protocol, retries=0)
            with self.assertRaisesRegex(UserError, message) as caught:
                client.translate_file(calling, str(source), None, {})
        self.assertTrue(str(caught.exception).isprintable())

    @parameterized.parameters(*SERVERS)
    def test_no_server(self, protocol):
        with SERVERS[protocol](server.tiny_servable()) as address:
            pass
        source = self.folder / "in"
        source.write_text("a house\n")
        calling = client.Calling(address, protocol, retries=1)
        with self.assertRaisesRegex(UserError, f"{address}: unavailable"):
            client.translate_file(calling, str(source), str(self.folder / "out"), {})

    def test_a_deadline_is_kept(self):
        with _silent_port() as address:
            for protocol in SERVERS:
                calling = client.Calling(address, protocol, deadline=0.3, retries=0)
                source = self.folder / "in"
                source.write_text("a house\n")
                start = time.monotonic()
                with self.assertRaisesRegex(UserError, "DEADLINE_EXCEEDED|unavailable"):
                    client.translate_file(calling, str(source), None, {})
                self.assertLess(time.monotonic() - start, 30)

    @parameterized.parameters(
        ({"protocol": "smtp"}, "protocol must be one of grpc, rest"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"retries": -1}, "retries must not be below 0"),
        ({"deadline": 0.0}, "deadline must be above 0"),
    )
    def test_bad_calls(self, fields, message):
        with self.assertRaisesRegex(UserError, message):
            client.Calling("localhost:1", **fields)

    @parameterized.parameters(
        "localhost",
        "localhost:",
        ":8500",
        "localhost:0",
        "localhost:65536",
        "localhost:99999999999",
        "localhost:-1",
        "localhost:http",
        "localhost:\u0661",
        "http://localhost:8500",
        "localhost:8500/v1",
        "local host:8500",
        "::1:8500",
        "",
    )
    def test_bad_servers(self, name):
        for protocol in SERVERS:
            message = "^server must be host:port, the port from 1 to 65535, not "
            with self.assertRaisesRegex(UserError, message + re.escape(name) + "$"):
                client.Calling(name, protocol)

    @parameterized.parameters("localhost:1", "a-b.example:65535", "[::1]:8500")
    def test_good_servers(self, name):
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

    def test_the_rest_examples_of_the_documentation(self):
        text = (Path(__file__).parents[2] / "docs" / "serving.md").read_text("utf-8")
        plain, chosen = re.findall(r"curl -d '([^']*)'", text)
        [found] = _post(plain)["predictions"]
        expected = _row(exported.call("text_only", [["a house"]]), 0)
        # Rounding depends on the threads that are free.
        self.assertAlmostEqual(found.pop("score"), expected.pop("score"), places=4)
        self.assertEqual(found, expected)
        options = {"heuristic": "thresh", "setting": 0.3}
        self.assertEqual(
            _post(chosen)["outputs"],
            exported.call("serving_default", [["a house"]], options),
        )

    def test_what_is_not_given_over_rest(self):
        texts, names = ["a house", "tree"], ["fixed_k", "mask_predict"]
        inputs = {"text": texts, "heuristic": names, "length_beam": [5, 5]}
        inputs |= {"max_iterations": [99, 99], "target_speedup": [0, 0]}
        expected = exported.call(
            "serving_default", [texts], {"heuristic": names, "setting": [3.0, 10.0]}
        )
        for none in ([-1, -1], [float("nan"), -1.0]):
            body = json.dumps({"inputs": inputs | {"setting": none}})
            self.assertEqual(_post(body)["outputs"], expected)

    def test_defaults_are_the_servers(self):
        with server.grpc_server(server.tiny_servable()) as address:
            with contextlib.closing(grpc.insecure_channel(address)) as channel:
                stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
                request = messages.predict_request({"text": ["a house"]}, "m")
                response = stub.Predict(request, 60)
        found = {
            name: tf.make_ndarray(t).tolist() for name, t in response.outputs.items()
        }
        found["translation"] = [text.decode() for text in found["translation"]]
        self.assertEqual(found, exported.call("serving_default", [["a house"]]))


def _post(body):
    """The REST server's answer to a request."""
    with server.rest_server(server.tiny_servable()) as address:
        connection = http.client.HTTPConnection(address)
        with contextlib.closing(connection):
            connection.request("POST", "/v1/models/m:predict", body)
            return json.loads(connection.getresponse().read())


def _row(outputs, row):
    return {name: values[row] for name, values in outputs.items()}


@contextlib.contextmanager
def _silent_port():
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield "{}:{}".format(*listener.getsockname())


if __name__ == "__main__":
    tf.test.main()
