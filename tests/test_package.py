"""What `import cmlm_tf` offers, and that it imports little."""

import subprocess
import sys

import pytest

import cmlm_tf
from cmlm_tf import errors, pretrained
from cmlm_tf.translate import loading, options, results

HOMES = {
    errors: ["UserError"],
    loading: ["load_translator"],
    options: ["BeamOptions", "UnmaskingOptions"],
    pretrained: ["EN_DE_STUDENT", "EN_DE_TEACHER", "EN_DE_TEST"],
    results: ["Translation"],
}


def test_names_are_those_of_their_homes():
    for home, names in HOMES.items():
        for name in names:
            assert getattr(cmlm_tf, name) is getattr(home, name)
    assert sorted(cmlm_tf.__all__) == sorted(sum(HOMES.values(), []))
    assert set(cmlm_tf.__all__) <= set(dir(cmlm_tf))


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="'cmlm_tf' has no attribute 'nothing'"):
        _ = cmlm_tf.nothing


@pytest.mark.parametrize(
    "code",
    [
        "import cmlm_tf; dir(cmlm_tf); cmlm_tf.EN_DE_STUDENT",
        "import cmlm_tf.errors",
        "import cmlm_tf.commands.cli",
    ],
)
def test_little_is_imported(code):
    code += (
        "; import sys; print([m for m in ('keras', 'tensorflow') if m in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "[]\n"
