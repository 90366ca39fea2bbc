"""One run of all figures serves all tests, and so do the models of that run."""

import functools
from unittest import mock

import pytest

from benchmarks.paper_figures import page, points
from tests.benchmarks.paper_figures.tiny_run import measure_tiny, workbench


@pytest.fixture(autouse=True, scope="session")
def _models_are_kept():
    """Keeps translators, which trace each way to decode once."""
    load = functools.cache(points.load_translator)
    with mock.patch.object(points, "load_translator", load):
        yield


@pytest.fixture(scope="session")
def folder(runs):
    """A folder with all figures."""
    return runs[0]


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A folder with all figures, and how many points each of three runs measured.

    The first was interrupted in its 20th decoding, the third is the second once more.
    """
    folder = tmp_path_factory.mktemp("figures")
    translate = points.Workbench._translate
    calls = 0

    def interrupted(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == 20:
            raise KeyboardInterrupt
        return translate(*args, **kwargs)

    first, second = workbench(folder), workbench(folder)
    with mock.patch.object(points.Workbench, "_translate", interrupted):
        with pytest.raises(KeyboardInterrupt):
            measure_tiny(folder, first)
        measure_tiny(folder, second)
    third = workbench(folder)
    with mock.patch.object(page, "redraw"):
        measure_tiny(folder, third)
    caches = [bench.cache for bench in (first, second, third)]
    return folder, [cache.num_measured for cache in caches]
