"""The engine of many machines, on a cluster of three nodes on this one."""

import sys
import warnings

import pytest

from rewardspec.errors import Error
from rewardspec.lab.experiments.engines import Failed, Finished, Lost
from rewardspec.lab.experiments.engines.local import Local
from tests.lab.experiments.fakes import FakeWork, Silent, several, wait_for
from tests.lab.experiments.test_running import assert_same_cells, is_gone, reproduce

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(sys.platform != "linux", reason="reads the state of processes from /proc"),
    # Ray leaves sockets and files to the garbage collector.
    pytest.mark.filterwarnings("default::ResourceWarning", "default::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def cluster():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        found.killable = [found.add_node(num_cpus=1) for _ in range(2)]
        ray.init(address=found.address, log_to_driver=False)
        yield found
        ray.shutdown()
        found.shutdown()


class Murderous(Silent):
    """A display that kills a node as soon as every node is at work."""

    def __init__(self, cluster, signs) -> None:
        super().__init__()
        self._cluster, self._signs = cluster, signs

    def show(self, board, event) -> None:
        super().show(board, event)
        go = self._signs / "go"
        if len(board.running) == 3 and not go.exists():
            self._cluster.remove_node(self._cluster.killable.pop(), allow_graceful=False)
            # A worker outlives its node for a moment, in which it could still finish.
            wait_for(lambda: any(is_gone(int(path.read_text())) for path in self._signs.glob("begun *")))
            go.touch()


def test_a_node_killed_in_the_middle_changes_nothing_about_the_results(cluster, tmp_path):
    from rewardspec.lab.experiments.engines.ray import Ray

    jobs = several(7)
    signs = tmp_path / "signs"
    signs.mkdir()
    display = Murderous(cluster, signs)
    engine = Ray()
    assert engine.workers == 3
    work = FakeWork(str(signs), {one.key: "wait" for one in jobs})
    summary = reproduce(tmp_path / "cluster", jobs, engine, work, display=display)
    assert (summary.done, summary.failed) == (7, ())
    assert len(cluster.killable) == 1
    assert len(list(signs.glob("begun *"))) == 8  # one of the seven began twice
    lost = {event.reason for event in display.events if isinstance(event, Lost)}
    assert lost <= {"its node or its process on it died"}  # told where the job is not done before that is known

    reproduce(tmp_path / "here", jobs, Local(1), FakeWork(str(tmp_path)), display=Silent())
    assert_same_cells(tmp_path / "cluster", tmp_path / "here")

    # The same cluster, which was not ours to stop, tells what goes wrong in jobs.
    bad, refused, good = jobs[:3]
    events = list(Ray().run(jobs[:3], FakeWork(str(signs), {bad.key: "raise", refused.key: "refuse"})))
    failed = {event.job.key: event for event in events if isinstance(event, Failed)}
    assert failed[bad.key].reason == "ZeroDivisionError: nothing to divide by"
    assert "fakes.py" in failed[bad.key].details
    assert (failed[refused.key].reason, failed[refused.key].details) == ("This job is not to be done. Do another.", "")
    assert [event.job for event in events if isinstance(event, Finished)] == [good]


def test_a_cluster_that_is_not_there_is_told_with_the_remedy():
    from rewardspec.lab.experiments.engines.ray import Ray

    with pytest.raises(Error, match=r"Cannot use the Ray cluster at '127.0.0.1:1'.*ray start --head"):
        Ray("127.0.0.1:1")
