r"""Loads a served model: size, load time, memory, latency and throughput.

Clients with one sentence each ask over gRPC on loopback, in processes of their own;
the server is the tests', in a process of its own too. Every answer is compared with
the first one for its line. The server's memory is read before each tenth of the
requests and at the end.

Examples:
  python -m benchmarks.serving --export=served/student/1 --input=test.en \
      --clients=1,4,16,64 --requests=500 --json=serving.json
  python -m benchmarks.serving --export=served/student/1 --input=test.en \
      --clients=64 --batching=true --requests=20000 --json=memory.json
"""

import concurrent.futures
import contextlib
import json
import multiprocessing
import os
import time
from itertools import islice
from pathlib import Path

import numpy as np
from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.data.text_files import read_lines
from cmlm_tf.utils.json_files import write_json

_EXPORT = flags.DEFINE_string("export", None, "Folder of a version.", required=True)
_INPUT = flags.DEFINE_string("input", None, "Source lines.", required=True)
_LINES = flags.DEFINE_integer("lines", 200, "Lines that are asked again and again.")
_CLIENTS = flags.DEFINE_list("clients", ["1", "4", "16", "64"], "Clients at a time.")
_REQUESTS = flags.DEFINE_integer("requests", 500, "Requests of each measurement.")
_BATCHING = flags.DEFINE_list("batching", ["false", "true"], "Server-side batching.")
_JSON = flags.DEFINE_string("json", None, "File for the figures.")

_PARTS = 10


def main(_) -> None:
    """Measures and prints one JSON line for each number of clients."""
    lines = list(islice(read_lines(_INPUT.value), _LINES.value))
    size = sum(f.stat().st_size for f in Path(_EXPORT.value).rglob("*") if f.is_file())
    rows: list[dict] = []
    for batching in _BATCHING.value:
        with _server(_EXPORT.value, batching == "true") as (address, load_s, pid):
            loaded = {"bytes": size, "load_s": load_s, "loaded_rss": rss(pid)}
            expected = _ask(address, lines, 1, len(lines))[0]
            for clients in map(int, _CLIENTS.value):
                row = _measure(address, pid, lines, clients, expected)
                rows.append(loaded | {"batching": batching} | row)
                print(json.dumps(rows[-1]), flush=True)
    if _JSON.value:
        write_json(_JSON.value, rows)


def rss(pid: int) -> int:
    """Returns the resident memory of a process in bytes."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def _measure(address, pid, lines, clients, expected) -> dict:
    memory: list[int] = []
    step = -(-_REQUESTS.value // _PARTS)

    def watch(i):
        if i % step == 0:
            memory.append(rss(pid))

    start = time.perf_counter()
    answers, seconds, errors = _ask(address, lines, clients, _REQUESTS.value, watch)
    total = time.perf_counter() - start
    p50, p95, p99 = 1e3 * np.quantile(seconds, [0.5, 0.95, 0.99])
    return {
        "clients": clients,
        "requests": _REQUESTS.value,
        "errors": errors,
        "wrong": sum(
            answer is not None and answer != expected[i % len(lines)]
            for i, answer in enumerate(answers)
        ),
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "sentences_per_second": len(seconds) / total,
        "rss": [*memory, rss(pid)],
    }


def _ask(address, lines, clients, num_requests, watch=lambda i: None):
    """Returns the answers in order, the seconds of each, and how many failed.

    Calls `watch` with the number of each request, from 0, when it is sent.
    """
    from cmlm_tf.serving.grpc_client import GrpcClient, RequestError

    with GrpcClient(address, "student", deadline=600) as client:

        def ask(i):
            watch(i)
            start = time.perf_counter()
            try:
                (answer,) = client.translate([lines[i % len(lines)]], {})
            except RequestError:
                return None, 0.0
            return answer, time.perf_counter() - start

        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            answers, seconds = zip(*pool.map(ask, range(num_requests)), strict=True)
    errors = sum(answer is None for answer in answers)
    return answers, [s for s in seconds if s], errors


@contextlib.contextmanager
def _server(export, batching):
    """Starts a server in another process; yields address, seconds to load, pid."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(export, batching, theirs))
    process.start()
    try:
        yield *ours.recv(), process.pid
    finally:
        ours.send(None)
        process.join()


def _serve(export, batching, connection) -> None:
    from benchmarks.batching import Batching
    from tests.serving.servable import Servable
    from tests.serving.server import grpc_server

    start = time.perf_counter()
    servable = Servable(export)
    seconds = time.perf_counter() - start
    if batching:
        servable = Batching(servable)
    with grpc_server(servable) as address:
        connection.send((address, seconds))
        connection.recv()


if __name__ == "__main__":
    cli.run(main)
