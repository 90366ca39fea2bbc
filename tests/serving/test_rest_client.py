"""Answers of something that is no server of such models."""

import pytest

from cmlm_tf.serving.rest_client import _translations
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
