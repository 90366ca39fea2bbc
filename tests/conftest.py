"""Settings for every test: the CPU, few threads, no chatter, no chance.

XLA leaves out what takes long to compile and makes programs faster: they run once.
"""

import os
from unittest import mock

import pytest

_ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "MPLBACKEND": "Agg",
    "OMP_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "XLA_FLAGS": "--xla_backend_optimization_level=0 "
    "--xla_llvm_disable_expensive_passes=true",
}
for _name, _value in _ENVIRONMENT.items():
    os.environ.setdefault(_name, _value)

from hypothesis import settings  # noqa: E402

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True, scope="session")
def _graphs_are_kept():
    """Leaves out the seed that tf.test.TestCase sets before each test.

    It makes TensorFlow forget every graph that is ready to run, and no test draws
    from the numbers that it is the seed of.
    """
    with mock.patch("tensorflow.python.framework.random_seed.set_random_seed"):
        yield


def pytest_collection_modifyitems(items):
    """Leaves out what tf.test.TestCase has under a test's name, and always skips."""
    items[:] = [item for item in items if item.name != "test_session"]
