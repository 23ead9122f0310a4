"""Archives of arrays: what is declared is looked at before anything is read."""

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest

from rewardspec.errors import PolicyFileError
from rewardspec.lab.experiments.result_files import ResultFileError, read
from rewardspec.lab.learning.array_files import ArrayFile, DamagedFileError, write_arrays
from rewardspec.lab.learning.policies import load_policy
from tests.lab.experiments.fakes import content_of, job

HUGE = 2**24  # numbers; as floats, 128 MB


def npy(shape, size=None) -> bytes:
    """The beginning of a file of float64 zeros that says it has this shape, and as many zeros as it says."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return buffer.getvalue() + bytes(int(np.prod(shape)) * 8 if size is None else size)


def rewritten(path, **parts):
    """The same archive with other parts, compressed as well as can be."""
    with zipfile.ZipFile(path) as archive:
        old = {entry.filename.removesuffix(".npy"): archive.read(entry) for entry in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (old | parts).items():
            archive.writestr(f"{name}.npy", content)


def peak_while(call) -> int:
    """The most memory that a call holds, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def policy_file(tmp_path):
    path = tmp_path / "policy.npz"
    header = {"format": "rewardspec policy 1", "kind": "table", "task": "frozen_lake", "spec": None, "observe": None}
    path.write_bytes(write_arrays(header | {"seeds": [0]}, {"table": np.zeros((1, 11, 4), dtype=np.float32)}))
    load_policy(path)
    return path


@pytest.mark.parametrize("name", ["table", "more"])
def test_a_policy_that_would_be_huge_is_refused_unread(policy_file, name):
    rewritten(policy_file, **{name: npy((HUGE,))})
    assert policy_file.stat().st_size < 200_000

    def refused():
        with pytest.raises(PolicyFileError, match=r"has shape|its arrays are"):
            load_policy(policy_file)

    refused()  # once before, so that what is imported and cached does not count
    assert peak_while(refused) < 4_000_000


@pytest.mark.parametrize("name", ["reward", "more"])
def test_a_result_that_would_be_huge_is_refused_unread(tmp_path, name):
    path = tmp_path / f"{job().key}.npz"
    path.write_bytes(content_of(job()))
    rewritten(path, **{name: npy((HUGE,))})

    def refused():
        with pytest.raises(ResultFileError, match="not one number for each of at most 10 episodes"):
            read(path)

    refused()
    assert peak_while(refused) < 4_000_000


def test_a_header_that_would_be_huge_is_refused_unread(policy_file):
    part = io.BytesIO()
    np.lib.format.write_array_header_1_0(part, {"descr": f"<U{HUGE}", "fortran_order": False, "shape": ()})
    rewritten(policy_file, header=part.getvalue() + bytes(4 * HUGE))

    def refused():
        with pytest.raises(PolicyFileError, match="its header is longer than"):
            load_policy(policy_file)

    refused()
    assert peak_while(refused) < 4_000_000


@pytest.mark.parametrize("size", [0, 8, 8 * 4_000])
def test_an_array_that_is_not_as_long_as_it_says_is_damage(policy_file, size):
    rewritten(policy_file, table=npy((1, 11, 4), size))
    with pytest.raises(DamagedFileError, match=r"'table.npy' is not as long as it says"), ArrayFile(policy_file):
        pass


def test_what_is_written_is_read_and_the_same_every_time(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False]), "c": np.zeros((0, 4), dtype=np.int32)}
    content = write_arrays({"x": [1, "ä"]}, arrays)
    assert content == write_arrays({"x": [1, "ä"]}, arrays)
    (tmp_path / "file.npz").write_bytes(content)
    with ArrayFile(tmp_path / "file.npz") as file:
        assert file.header() == {"x": [1, "ä"]}
        assert file.declared["a"] == ((2, 3), np.dtype("float64"))
        for name, array in file.read().items():
            np.testing.assert_array_equal(array, arrays[name])
            assert array.dtype == arrays[name].dtype
    with np.load(tmp_path / "file.npz") as archive:
        assert json.loads(str(archive["header"])) == {"x": [1, "ä"]}
