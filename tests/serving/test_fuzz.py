"""Whatever a request holds, it is refused by name or read as it was asked for."""

import math
import re

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.decoding.heuristics import HEURISTICS, LARGEST_SETTING
from cmlm_tf.serving.completion import read_gaps
from cmlm_tf.serving.requests import (
    DTYPES,
    OPTIONS,
    option_defaults,
    option_specs,
    read_request,
)
from cmlm_tf.serving.text import ServedSubwords
from tests import tiny_models

BATCH, MOST, LONGEST = 2, 10, 12
RULES = list(HEURISTICS)
WHOLE = ("mask_predict", "fixed_k")
OWN = {"mask_predict": 10, "fixed_k": 3}
SUBWORDS = SubwordModel(tiny_models.subword_file())

FLOATS = st.floats(width=32) | st.sampled_from(
    [math.nan, -1.0, 0.0, 0.5, 1.0, 3.0, 1e6]
)
NUMBERS = st.integers(-(2**31), 2**31 - 1) | st.integers(-1, MOST + 1)
VALUES = {
    "heuristic": st.sampled_from([*RULES, "", "Thresh"]) | st.text(max_size=9),
    "setting": FLOATS,
    "target_speedup": st.just(math.nan) | FLOATS,
    "length_beam": NUMBERS,
    "max_iterations": NUMBERS,
}
#: Bytes of all kinds, among them text with gaps.
BYTES = (
    st.binary(max_size=20)
    | st.text(max_size=20).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.lists(st.sampled_from(["<mask>", "Hund", " ", "\U0010fffd", "das"]))
    .map("".join)
    .map(str.encode)
)


@tf.function(input_signature=[option_specs()], autograph=False)
def read_options(options):
    return read_request(tf.constant(BATCH), options, MOST)


@pytest.fixture(scope="module")
def readers():
    """Graphs that read texts and targets with gaps.

    Made here, not on import: other tests take away what was made before them.
    """
    served = ServedSubwords(SUBWORDS)
    spec = tf.TensorSpec([None], tf.string)
    return [
        tf.function(read, input_signature=[spec], autograph=False)
        for read in (
            lambda texts: served.encode(texts, "text", LONGEST),
            lambda partials: read_gaps(served, partials, "partial", LONGEST),
        )
    ]


@st.composite
def requests(draw):
    """Options that are given, each one value or one a row, rarely more."""
    names = draw(st.sets(st.sampled_from(list(OPTIONS))))
    size = st.sampled_from([1, BATCH, BATCH, BATCH + 1])
    return {
        name: draw(st.lists(VALUES[name], min_size=n, max_size=n))
        for name in sorted(names)
        for n in [draw(size)]
    }


def faults(asked):
    """The inputs that a request is refused for, by the rules of docs/serving.md."""
    sizes = {name for name, values in asked.items() if len(values) not in (1, BATCH)}
    if sizes:
        return sizes
    return {name for row in rows(asked) for name in _faults_of_row(**row)}


def rows(asked):
    given = {name: asked.get(name, [value]) for name, value in OPTIONS.items()}
    for i in range(BATCH):
        yield {name: v[i % len(v)] for name, v in given.items()}


def _faults_of_row(heuristic, setting, target_speedup, length_beam, max_iterations):
    if heuristic not in RULES:
        yield "heuristic"
    elif setting != -1 and not math.isnan(setting):
        if heuristic in WHOLE:
            fits = 1 <= setting <= LARGEST_SETTING and setting == int(setting)
        else:
            fits = 0 <= setting <= 1
        if not fits:
            yield "setting"
    # The model was not calibrated.
    if target_speedup and not math.isnan(target_speedup):
        yield "target_speedup"
    if not 1 <= length_beam <= MOST:
        yield "length_beam"
    if not 1 <= max_iterations <= LARGEST_SETTING:
        yield "max_iterations"


def is_text(value):
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@settings(max_examples=200)
@given(asked=requests())
def test_options(asked):
    tensors = {n: tf.constant(v, DTYPES[n]) for n, v in asked.items()}
    try:
        found = read_options(option_defaults() | tensors)
    except tf.errors.InvalidArgumentError as error:
        assert faults(asked) & set(re.findall(r"failed: \[(\w+): ", error.message))
        return
    assert faults(asked) == set()
    for i, row in enumerate(rows(asked)):
        assert RULES[found.rules[i]] == row["heuristic"]
        setting = row["setting"]
        if setting == -1 or math.isnan(setting):
            setting = OWN.get(row["heuristic"], 0.1)
        assert found.settings[i] == np.float32(setting)
        assert found.length_beam[i] == row["length_beam"]
        assert found.max_iterations[i] == row["max_iterations"]


@settings(max_examples=200)
@given(texts=st.lists(BYTES, min_size=1, max_size=3))
def test_texts(readers, texts):
    try:
        found = readers[0](tf.constant(texts))
    except tf.errors.InvalidArgumentError as error:
        is_long = any(
            is_text(t) and len(SUBWORDS.encode([t.decode()])[0]) > LONGEST
            for t in texts
        )
        assert "text: " in error.message
        assert is_long or not all(map(is_text, texts))
        return
    for i, text in enumerate(t.decode() for t in texts):
        ids = SUBWORDS.encode([text])[0] if text.strip() else []
        assert found.lengths[i] == len(ids)
        assert found.ids[i, : len(ids)].numpy().tolist() == ids


@settings(max_examples=200)
@given(partials=st.lists(BYTES, min_size=1, max_size=3))
def test_partial_targets(readers, partials):
    try:
        gaps = readers[1](tf.constant(partials))
    except tf.errors.InvalidArgumentError as error:
        assert "partial: " in error.message
        return
    for i, partial in enumerate(p.decode() for p in partials):
        given_text = [s.decode() for s in gaps.segments[i].numpy()]
        assert "<mask>".join(given_text) == partial
        assert gaps.num_gaps[i] == partial.count("<mask>")
        assert gaps.num_given[i] + gaps.num_gaps[i] <= LONGEST
