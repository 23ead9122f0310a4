"""The file of one job's result."""

import io
import json
import os
import zipfile

import numpy as np
import pytest

from rewardspec.lab.experiments.jobs import REVISION
from rewardspec.lab.experiments.result_files import ResultFileError, encode, parsed_name, read
from tests.lab.experiments.fakes import content_of, job, log_of


def npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / f"{job().key}.npz"
    path.write_bytes(content_of(job()))
    return path


def reheaded(path, **changes):
    """The same file with another header."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["header"])) | changes
    np.savez(path, **(arrays | {"header": np.array(json.dumps(header))}))


def test_a_result_is_read_as_it_was_written(stored):
    result = read(stored)
    expected = log_of(job())
    assert (result.task, result.reward, result.first, result.log.runs) == ("taxi", "base", 0, 2)
    assert result.config == {"learner": "Settings", "revision": REVISION, "episodes": 5, "rate": 0.1}
    assert (result.observe, result.payment) == (None, None)
    assert (result.seconds, result.commands, result.devices) == (1.5, ("rewardspec reproduce",), ("a machine",))
    assert result.versions == {"python": "3"}
    for name, column in expected.columns().items():
        assert result.log.columns()[name].dtype == column.dtype
        if name != "seconds":
            np.testing.assert_array_equal(result.log.columns()[name], column)


def test_numpy_alone_can_read_one(stored):
    with np.load(stored, allow_pickle=False) as archive:
        assert json.loads(str(archive["header"]))["task"] == "taxi"
        assert archive["reward"].shape == (10,)


def test_the_same_result_is_the_same_file():
    log = log_of(job())
    header = {"seconds": 1.0, "command": "c", "versions": {}, "device": "d"}
    assert encode(job(), log, **header) == encode(job(), log, **header)


def test_a_file_cut_off_anywhere_is_damaged(stored):
    whole = stored.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 60)):
        stored.write_bytes(whole[:length])
        with pytest.raises(ResultFileError, match="damaged"):
            read(stored)


def test_a_flipped_bit_in_a_column_is_damage(stored):
    whole = bytearray(stored.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(whole))) as archive:
        start = archive.getinfo("reward.npy").header_offset + 60
    whole[start] ^= 0x10
    stored.write_bytes(bytes(whole))
    with pytest.raises(ResultFileError, match="damaged"):
        read(stored)


@pytest.mark.parametrize("content", [b"", b"hello", npy(np.zeros(3)), os.urandom(500)])
def test_what_is_no_archive_at_all_is_refused(stored, content):
    stored.write_bytes(content)
    with pytest.raises(ResultFileError, match="no result at all"):
        read(stored)


def test_a_pickle_is_not_loaded(stored):
    np.savez(stored, header=np.array([{"kind": "rewardspec result"}], dtype=object))
    with pytest.raises(ResultFileError, match="no result at all"):
        read(stored)


def test_archives_of_other_programs_are_refused(stored):
    np.savez(stored, weights=np.zeros(3))
    with pytest.raises(ResultFileError, match="not a result of rewardspec: it has no header"):
        read(stored)
    np.savez(stored, header=np.array("ELF"))
    with pytest.raises(ResultFileError, match="its header cannot be read"):
        read(stored)
    np.savez(stored, header=np.array('{"kind": "photo album"}'))
    with pytest.raises(ResultFileError, match="another program's"):
        read(stored)


def test_another_format_says_which(stored):
    reheaded(stored, format=2)
    with pytest.raises(ResultFileError, match="is of format 2, and this version of rewardspec reads 1"):
        read(stored)


@pytest.mark.parametrize("change", [{"count": "many"}, {"config": 3}, {"seconds": None}])
def test_a_header_that_cannot_be_is_refused(stored, change):
    reheaded(stored, **change)
    with pytest.raises(ResultFileError, match="incomplete or inconsistent"):
        read(stored)


def test_a_missing_or_short_column_is_refused(stored):
    with np.load(stored) as archive:
        arrays = dict(archive)
    np.savez(stored, **{name: array for name, array in arrays.items() if name != "violated"})
    with pytest.raises(ResultFileError, match="violated"):
        read(stored)
    np.savez(stored, **(arrays | {"violated": arrays["violated"][:-1]}))
    with pytest.raises(ResultFileError, match="same length"):
        read(stored)


@pytest.mark.parametrize("change", [{"task": "sokoban"}, {"first": 2}, {"count": 1}, {"config": {"learner": "Other"}}])
def test_a_file_under_another_jobs_name_is_refused(stored, change):
    reheaded(stored, **change)
    with pytest.raises(ResultFileError, match="the result of another job"):
        read(stored)


def test_a_file_that_is_gone_cannot_be_read(tmp_path):
    with pytest.raises(ResultFileError, match="cannot be read: No such file"):
        read(tmp_path / "taxi-base-seeds0-1-00000000.npz")


@pytest.mark.parametrize("stem", ["", "notes", "taxi-base", "taxi-base-seeds5-4-0123abcd", "taxi-base-seeds0-1-xyz"])
def test_names_of_other_files_are_told_apart(stem):
    assert parsed_name(stem) is None


def test_a_jobs_name_is_read_back():
    assert parsed_name(job("bipedal_walker", first=10, count=5).key)["task"] == "bipedal_walker"
