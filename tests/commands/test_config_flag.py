"""Which file `--config` stands for."""

from pathlib import Path

import pytest

from cmlm_tf.commands.config_flag import config_file, config_names

_CONFIGS = Path(__file__).parents[2] / "cmlm_tf" / "configs"


@pytest.mark.parametrize("name", config_names())
@pytest.mark.parametrize("role", ["", ":student"])
def test_a_name_is_a_config_of_the_package(name, role):
    path, colon, found = config_file(name + role).partition(":")
    assert (colon + found) == role
    assert Path(path).samefile(_CONFIGS / f"{name}.py")


def test_a_file_goes_before_a_name_and_a_folder_does_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("toy").mkdir()
    Path("base").touch()
    assert config_file("toy:student").endswith("toy.py:student")
    assert config_file("base:student") == "base:student"


def test_files_stay_as_they_are(tmp_path):
    own = f"{tmp_path}/own.py"
    Path(own).touch()
    for argument in (own, f"{own}:teacher", f"{own}:any:thing"):
        assert config_file(argument) == argument


@pytest.mark.parametrize("text", ["multi3k", "configs/none.py:student", "__init__"])
def test_an_unknown_name_gets_the_list(text):
    with pytest.raises(ValueError, match="no such file, .*: base, .*, toy, wmt14_en"):
        config_file(text)
