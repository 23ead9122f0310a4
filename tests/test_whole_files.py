"""Files that are there whole or not at all."""

import os

import pytest

from rewardspec.atomic_files import remove_leftovers, write_whole


def test_bytes_are_written_and_so_is_what_a_function_writes(tmp_path):
    write_whole(tmp_path / "bytes", b"abc")
    write_whole(str(tmp_path / "function"), lambda file: file.write(b"abc"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"bytes": b"abc", "function": b"abc"}


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_writer_that_fails_leaves_what_was_there(tmp_path, error):
    def fail(file):
        file.write(b"half")
        raise error

    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(error):
        write_whole(tmp_path / "file", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    def meanwhile(file):
        file.write(b"outer")
        write_whole(tmp_path / "file", b"inner")
        assert (tmp_path / "file").read_bytes() == b"inner"

    write_whole(tmp_path / "file", meanwhile)
    assert (tmp_path / "file").read_bytes() == b"outer"
    assert os.listdir(tmp_path) == ["file"]


def test_what_a_killed_writer_left_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.unlink", lambda path, missing_ok=False: None)
    with pytest.raises(ZeroDivisionError):
        write_whole(tmp_path / "file", lambda file: 1 / 0)
    monkeypatch.undo()
    (tmp_path / ".hidden").touch()
    assert len(os.listdir(tmp_path)) == 2
    remove_leftovers(tmp_path)
    assert os.listdir(tmp_path) == [".hidden"]
