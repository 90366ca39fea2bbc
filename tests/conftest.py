"""Settings for every test: the CPU, few threads, no chatter, no chance."""

import os

_ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "MPLBACKEND": "Agg",
    "OMP_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
}
for _name, _value in _ENVIRONMENT.items():
    os.environ.setdefault(_name, _value)

from hypothesis import settings  # noqa: E402

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")
