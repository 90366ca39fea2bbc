"""A shell whose commands start in processes that have imported TensorFlow before.

The commands on its path are small programs that send what they were called with, and
their streams, to a server; a fork of the server does the work.
"""

import configparser
import contextlib
import importlib
import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: What only extras bring: no command finds it.
EXTRAS = ("apache_beam", "ctranslate2", "grpc", "sacremoses", "tensorflow_serving")
#: A command with this variable in its environment reads its flags, and that is all.
ONLY_FLAGS = "ONLY_FLAGS"

_PROGRAM = """#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
order = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [order], [0, 1, 2])
sys.exit(int(server.recv(16) or 70))
"""


def entry_points():
    """Module and function of each command that pip installs."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    lines = config["options.entry_points"]["console_scripts"].split("\n")
    return dict(line.split(" = ") for line in lines if line)


@contextlib.contextmanager
def shell(folder):
    """Yields a function that runs a script of bash; its log is in `folder`."""
    programs = folder / "bin"
    programs.mkdir()
    address = str(folder / "server")
    for name in ("python", *entry_points()):
        program = _PROGRAM.format(python=sys.executable, address=address)
        (programs / name).write_text(program)
        (programs / name).chmod(0o755)
    # Of the system's own programs those that documents name, and no other Python.
    for name in ("cat", "cp", "cut", "grep", "head", "ls", "mkdir", "sed", "split"):
        (programs / name).symlink_to(shutil.which(name))
    server = subprocess.Popen(
        [sys.executable, __file__, address], cwd=ROOT, stderr=subprocess.DEVNULL
    )
    while not os.path.exists(address):
        assert server.poll() is None, "no server"
        time.sleep(0.05)

    def run(script, cwd, **environment):
        return subprocess.run(
            [shutil.which("bash"), "-euo", "pipefail", "-c", script],
            cwd=cwd,
            env={"PATH": str(programs), "HOME": str(folder), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    yield run
    server.terminate()
    server.wait()


def _serve(address):
    sys.modules.update(dict.fromkeys(EXTRAS))
    sys.path.insert(0, str(ROOT))
    for module in ("tensorflow_text", "sacrebleu", "ml_collections"):
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(connection)
            connection.close()


def _answer(connection):
    message, streams, _, _ = socket.recv_fds(connection, 1 << 17, 3)
    code = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
        sys.argv, folder, environment = json.loads(message)
        os.environ.update(environment)
        os.chdir(folder)
        (_read_flags if ONLY_FLAGS in environment else _run)(sys.argv)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        sys.stderr.flush()
        connection.send(str(code).encode())
        os._exit(code)


def _run(arguments):
    name = os.path.basename(arguments[0])
    if name != "python":
        module, function = entry_points()[name].split(":")
        getattr(importlib.import_module(module), function)()
        return
    _, first, *rest = arguments
    if first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-":
        sys.argv = [first, *rest]
        exec(compile(sys.stdin.read(), "stdin", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = [first, *rest]
        runpy.run_path(first, run_name="__main__")


def _read_flags(arguments):
    from absl import flags

    name = os.path.basename(arguments[0])
    if name == "python":
        if arguments[1] != "-m":
            assert (ROOT / arguments[1]).exists(), f"no file {arguments[1]}"
            return
        module, arguments = arguments[2], arguments[2:]
        if (ROOT / module.replace(".", "/")).is_dir():
            module += ".__main__"
    else:
        module = entry_points()[name].split(":")[0]
    importlib.import_module(module)
    rest = flags.FLAGS(arguments)
    assert len(rest) == 1, f"unexpected argument: {rest[1:]}"


if __name__ == "__main__":
    _serve(sys.argv[1])
