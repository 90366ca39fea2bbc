"""One clear line for bad flags and without the extra `serving`; REST works without."""

import pytest

from tests.commands import run_command


@pytest.mark.parametrize(
    ("command", "flags", "message"),
    [
        ("export", ["model_dir=m", "output_dir=1"], "tensorflow_serving"),
        ("translate_client", ["server=localhost:1"], "grpc"),
        ("translate_client", ["server=localhost:1", "protocol=rest"], None),
        ("translate_client", ["server=h:1", "length_beam=0"], "flag --length_beam=0: "),
        (
            "translate_client",
            ["server=h:1", "max_iterations=1000001"],
            "flag --max_iterations=1000001: must be from 1 to 1000000",
        ),
        ("translate_client", [], "flag --server is needed"),
    ],
)
def test_one_line_without_the_extra(command, flags, message):
    arguments = [f"bin/{command}.py", *(f"--{flag}" for flag in flags)]
    process = run_command(*arguments, missing=("grpc", "tensorflow_serving"))
    if message is None:
        assert process.returncode == 0
        return
    assert process.returncode == 1
    line = process.stderr.rstrip("\n").split("\n")[-1]
    assert line.startswith(f"error: {message}")
    is_missing = line.endswith("is missing: the extra serving has it")
    assert is_missing == (not message.startswith("flag "))
    assert "Traceback" not in process.stderr
