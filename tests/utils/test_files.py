"""Tests of cmlm_tf.utils.files."""

import contextlib
import errno
import os

import pytest

from cmlm_tf.errors import UserError
from cmlm_tf.utils import files
from cmlm_tf.utils.files import (
    atomic_write,
    new_folder,
    remove_leftovers,
    replaced_folder,
    sha256_file,
)

NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_replaces_the_file_only_when_the_body_ends(tmp_path):
    path = tmp_path / "model.weights.h5"
    path.write_text("old")
    with atomic_write(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == tmp_path
        assert temporary.name.startswith(".")
        assert temporary.name.endswith(".weights.h5")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a/b/out", "x" * 250])
def test_makes_a_file_that_others_may_read(tmp_path, name):
    with atomic_write(tmp_path / name) as temporary:
        temporary.write_text("x")
    assert (tmp_path / name).read_text() == "x"
    assert os.stat(tmp_path / name).st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyboardInterrupt(), pytest.raises(KeyboardInterrupt)),
        (NO_SPACE, pytest.raises(UserError, match="out.json: No space")),
        (
            FileNotFoundError(errno.ENOENT, "", "missing"),
            pytest.raises(FileNotFoundError, match="missing"),
        ),
    ],
)
def test_failure_leaves_the_old_file_and_nothing_else(tmp_path, error, told):
    path = tmp_path / "out.json"
    path.write_text("old")
    with told, atomic_write(path) as temporary:
        temporary.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_device_is_named():
    with (
        pytest.raises(UserError, match="/dev/full: No space left on device"),
        atomic_write("/dev/full") as path,
    ):
        path.write_text("more than fits")


def test_leftovers_of_a_killed_write_go_and_nothing_else_does(tmp_path):
    path = tmp_path / "out[1].weights.json"
    others = [path, tmp_path / ".out.json", tmp_path / ".other.abcd1234.weights.json"]
    for other in others:
        other.write_text("kept")
    with atomic_write(path) as temporary:
        temporary.write_text("new")
    temporary.write_text("left behind")
    (tmp_path / ".out[1].abcd1234.weights.json" / "half").mkdir(parents=True)
    remove_leftovers(path)
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_a_link_stays_and_its_target_is_written(tmp_path):
    link, target = tmp_path / "link", tmp_path / "folder" / "target"
    link.symlink_to(target)
    for text in ("first", "second"):
        with atomic_write(link) as temporary:
            temporary.write_text(text)
        assert link.readlink() == target
        assert target.read_text() == text


def test_a_pipe_is_written_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(path) as place:
        place.write_text("x")
    assert os.read(reader, 9) == b"x"
    os.close(reader)
    assert path.is_fifo()


def test_bad_targets_are_told_by_the_users_name(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file/out\.json: "):
        with atomic_write(tmp_path / "file" / "out.json"):
            pass
    with pytest.raises(UserError, match=f"^{tmp_path}: is a folder$"):
        with atomic_write(tmp_path):
            pass


def test_sha256_of_the_standards_example(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert sha256_file(path) == expected


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_is_replaced_as_a_whole(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(files, "_renameat2", lambda *_: errno.EINVAL)
    folder = tmp_path / "parent" / "model.v1"
    for name in ("old", "new"):
        with replaced_folder(folder) as temporary:
            (temporary / name).write_text(name)
        assert [file.name for file in folder.iterdir()] == [name]
        assert list(folder.parent.iterdir()) == [folder]
        assert folder.stat().st_mode & 0o777 == 0o755


def test_there_is_a_folder_at_every_moment(tmp_path, monkeypatch):
    folder = tmp_path / "model"
    folder.mkdir()

    def no_second_step(one, other):
        raise AssertionError("the file system of the tests cannot exchange")

    with replaced_folder(folder) as temporary:
        (temporary / "new").write_text("")
        monkeypatch.setattr(os, "rename", no_second_step)
    assert (folder / "new").exists()


def test_a_failure_keeps_the_folder(tmp_path):
    folder = tmp_path / "model"
    (folder / "old").mkdir(parents=True)
    with pytest.raises(KeyboardInterrupt), replaced_folder(folder) as temporary:
        (temporary / "half").write_text("half")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.rglob("*")] == ["model", "old"]


def test_a_link_to_a_folder_stays(tmp_path):
    (tmp_path / "there" / "old").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there")
    with replaced_folder(link) as temporary:
        (temporary / "new").write_text("")
    assert link.is_symlink() and (tmp_path / "there" / "new").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "there"]


@pytest.mark.parametrize("can_at_once", [True, False])
@pytest.mark.parametrize("other", ["full", "empty", "file", None])
def test_a_new_folder_replaces_nothing(tmp_path, monkeypatch, can_at_once, other):
    if not can_at_once:
        monkeypatch.setattr(files, "_renameat2", lambda *_: errno.EINVAL)
    path = tmp_path / "parent" / "1"
    makers = {"full": lambda: (path / "kept").mkdir(parents=True), "empty": path.mkdir}
    makers |= {"file": path.touch, None: lambda: None}
    refused = pytest.raises(UserError, match="parent/1: is there already$")
    with refused if other else contextlib.nullcontext(), new_folder(path) as temporary:
        (temporary / "new").write_text("")
        makers[other]()
    names = sorted(str(p.relative_to(path)) for p in path.rglob("*"))
    assert names == {"full": ["kept"], None: ["new"]}.get(other, [])
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(UserError, match="is there already"), new_folder(path):
        raise AssertionError("not reached")


def test_no_folder_can_be_made_in_or_instead_of_a_file(tmp_path):
    path = tmp_path / "file"
    path.touch()
    for make, below in (
        (new_folder, path / "1"),
        (new_folder, path / "model" / "1"),
        (replaced_folder, path / "1"),
        (replaced_folder, path),
    ):
        with pytest.raises(UserError, match=f"^{path}: is no folder$"), make(below):
            raise AssertionError("not reached")
    assert path.is_file()
