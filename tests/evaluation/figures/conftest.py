"""One run of all figures serves all tests, and so do the models of that run."""

import functools
import time
from unittest import mock

import pytest

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures import workbench
from cmlm_tf.evaluation.figures.run import FIGURES
from tests.evaluation.figures.tiny_run import measure_tiny, write_corpus


@pytest.fixture(autouse=True, scope="session")
def _models_are_kept():
    """Keeps translators, which trace each way to decode once."""
    load = functools.cache(workbench.load_translator)
    with mock.patch.object(workbench, "load_translator", load):
        yield


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with all figures in `out`; time was up once on the way."""
    folder = tmp_path_factory.mktemp("figures")
    write_corpus(folder)
    with pytest.raises(UserError, match="time is up after 0 new points"):
        measure_tiny(folder, deadline=time.monotonic())
    assert not list((folder / "out").rglob("*.json"))
    paths = measure_tiny(folder)
    assert [path.stem for path in paths] == list(FIGURES)
    return folder
