"""Where two features of a spec meet: progress and veto, robustness and payment, long windows and veto."""

import math

import gymnasium as gym
import numpy as np
import pytest

import rewardspec as rs
from rewardspec.errors import LabelError, SpecError
from rewardspec.spec import Pair, Spec
from tests.spec_cases import vetoes_at_once


def violated_after(spec: Spec, letters: list[dict[str, float]]) -> int | None:
    """The first position at which a trace is violated."""
    state = spec.start(letters[0])
    for position, letter in enumerate(letters):
        if position:
            state, _ = spec.step(state, letter)
        if spec.violated(state):
            return position
    return None


class TestProgressAndVeto:
    @pytest.mark.parametrize(
        ("text", "position"),
        [("F[2,6] a", 6), ("X[5] a", 5), ("F[3,9](a & F[0,3] b)", 9), ("F[0,5] G[0,5] a", 5)],
    )
    def test_a_pair_paid_for_progress_vetoes_as_one_paid_by_its_value(self, text, position):
        """A1."""
        zeros = [{"a": 0.0, "b": 0.0}] * 12
        for progress in (True, False):
            assert violated_after(Spec([Pair(text, 1, progress=progress)]), zeros) == position


class TestInfiniteRobustness:
    def test_a_start_that_is_infinite_counts_as_zero_where_changes_are_paid(self):
        """A2."""
        spec = Spec([("WX G a", 1)], semantics="robustness", payment="delta")
        state = spec.start({"a": 1.0})
        assert spec.step(state, {"a": 2.0})[1] == 2.0
        batch = spec.start({"a": np.ones(3)})
        assert spec.step(batch, {"a": np.full(3, 2.0)})[1].tolist() == [2.0] * 3

    @pytest.mark.parametrize(
        ("text", "payment", "step"),
        [("F[2,5] a", "value", 1), ("F{3} a", "final", 1), ("X a", "potential", 0), ("G[3,4] a", "delta", 1)],
    )
    def test_what_would_be_paid_while_infinite_is_refused(self, text, payment, step):
        """A3."""
        atoms = {"a": lambda obs, action, next_obs: next_obs[0]}
        spec = Spec([(text, 1)], atoms, payment=payment, semantics="robustness")
        message = rf"robustness of -?inf at step {step}.* Give the spec a bound"
        with pytest.raises(SpecError, match=message):
            spec.start({"a": 0.0})
        with pytest.raises(SpecError, match=message):
            rs.wrappers.MonitorReward(gym.make("CartPole-v1"), spec)
        (finding,) = [finding for finding in spec.lint() if finding.rule == "infinite-value"]
        assert finding.severity == "error"

    @pytest.mark.parametrize(("text", "payment"), [("X a", "value"), ("WX G a", "delta"), ("G a", "potential")])
    def test_what_is_infinite_only_where_nothing_is_paid_is_not(self, text, payment):
        spec = Spec([(text, 1)], payment=payment, semantics="robustness")
        assert not [finding for finding in spec.lint() if finding.rule == "infinite-value"]
        assert math.isfinite(spec.step(spec.start({"a": 1.0}), {"a": 2.0})[1])

    def test_a_bound_is_paid_in_place_of_what_is_larger(self):
        spec = Spec([("F[2,5] a", 1), ("G a", 1)], semantics="robustness", bound=3)
        assert not [finding for finding in spec.lint() if finding.rule == "infinite-value"]
        state = spec.start({"a": 10.0})
        state, reward = spec.step(state, {"a": 1.0})
        assert spec.values(state) == (-3.0, 1.0)
        assert reward == -2.0
        state, reward = spec.step(state, {"a": 10.0})
        assert spec.values(state) == (3.0, 1.0)

    @pytest.mark.parametrize("bound", [0, -1, math.nan, "3"])
    def test_a_bound_is_a_positive_number(self, bound):
        with pytest.raises(SpecError, match="bound"):
            Spec([("G a", 1)], semantics="robustness", bound=bound)

    def test_an_infinite_bound_pays_what_is_infinite(self):
        spec = Spec([("F[2,5] a", 1)], semantics="robustness", bound=math.inf)
        assert not [finding for finding in spec.lint() if finding.rule == "infinite-value"]
        assert spec.step(spec.start({"a": 0.0}), {"a": 0.0})[1] == -math.inf

    @pytest.mark.parametrize("payment", ["delta", "potential"])
    def test_changes_of_what_is_infinite_are_refused_with_an_infinite_bound(self, payment):
        spec = Spec([Pair("F[2,5] a", 1, payment=payment)], semantics="robustness", bound=math.inf)
        with pytest.raises(SpecError, match="robustness of -inf at step"):
            spec.start({"a": 0.0})
        assert [finding.rule for finding in spec.lint() if finding.severity == "error"] == ["infinite-value"]

    def test_what_is_explained_may_be_infinite(self):
        found = Spec([("F[2,5] a", 1)], semantics="robustness").explain({"a": [0.0, 1.0, 2.0]})
        assert [row.values for row in found] == [(-math.inf,), (-math.inf,), (2.0,)]

    def test_degrees_have_no_bound(self):
        with pytest.raises(SpecError, match=r"left out: degrees are in \[0, 1\]"):
            Spec([("G a", 1)], bound=3)

    def test_a_bound_is_kept_by_files_and_copies(self, tmp_path):
        spec = Spec([("F[2,5] a", 1)], {"a": "next_obs[0]"}, semantics="robustness", bound=3)
        spec.save(tmp_path / "spec.toml")
        assert Spec.load(tmp_path / "spec.toml") == spec == spec.replace(bound=3)
        assert spec != spec.replace(bound=4)
        assert "bound=3" in repr(spec)


class TestLateVetoes:
    LATE = "G(b -> F[0,40] H[0,80] a)"

    def test_lint_names_a_veto_that_may_come_late(self):
        assert not vetoes_at_once(rs.parse(self.LATE))
        assert "late-veto" in [finding.rule for finding in Spec([Pair(self.LATE, 1, veto=True)]).lint()]
        assert "late-veto" not in [finding.rule for finding in Spec([("G(b -> F[0,400] a)", 1)]).lint()]

    def test_check_names_it_too(self, tmp_path, capsys):
        from rewardspec.cli import main

        path = tmp_path / "spec.toml"
        path.write_text(f'pairs = [["{self.LATE}", 1]]\n')
        main(["check", str(path)])
        assert "[late-veto]" in capsys.readouterr().out


class Walk(gym.Env):
    """Counts steps; never ends."""

    observation_space = gym.spaces.Box(-10, 10, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return np.zeros(1, dtype=np.float32), {}

    def step(self, action):
        self.at += 1
        return np.full(1, self.at, dtype=np.float32), 0.0, False, False, {}


class TestTerminateOnViolation:
    """A17."""

    def wrapped(self, low, **options):
        atoms = {"safe": lambda obs, action, next_obs: float(low <= next_obs[0] < low + 3)}
        spec = Spec([Pair("G safe", 1, penalty=-1)], atoms, **options)
        return rs.wrappers.MonitorReward(Walk(), spec, terminate_on_violation=True)

    @pytest.mark.filterwarnings("ignore:The safety objective")
    def test_an_episode_that_is_violated_at_reset_ends_at_its_first_step(self):
        env = self.wrapped(1)
        _, info = env.reset()
        assert (info["violated"], info["cost"]) == (True, 1.0)
        _, reward, terminated, truncated, info = env.step(0)
        assert (reward, terminated, truncated, info["cost"]) == (-1.0, True, False, 0.0)

    @pytest.mark.parametrize(
        ("payment", "rewards"), [("value", [1, 1, -1]), ("final", [0, 0, -1]), ("delta", [1, 0, -2])]
    )
    def test_an_episode_ends_with_the_step_that_violates_it(self, payment, rewards):
        env = self.wrapped(0, payment=payment)
        env.reset()
        steps = [env.step(0)[1:3] for _ in range(3)]
        assert steps == list(zip(rewards, [False, False, True], strict=True))


class TestLabelsOutOfRangeOnADevice:
    """NaN and labels outside of [0, 1] are noted for each atom and element, in torch and in JAX."""

    def test_each_of_many_atoms_is_told_apart(self):
        torch = pytest.importorskip("torch")
        atoms = [f"a{k}" for k in range(40)]
        spec = Spec([(f"F {atom}", 1) for atom in atoms])
        labels = {atom: torch.zeros(3) for atom in atoms}
        state, _ = spec.step(spec.start(labels), labels | {"a35": torch.tensor([0.0, 2.0, 0.5])})
        found = {atom: bad.tolist() for atom, bad in spec.invalid_labels(state).items() if bad.any()}
        assert found == {"a35": [False, True, False]}

    @pytest.mark.parametrize("library", ["torch", "jax.numpy"])
    @pytest.mark.parametrize("semantics", ["degree", "robustness"])
    def test_they_are_noted_for_ever(self, library, semantics):
        xp = pytest.importorskip(library)
        spec = Spec([("G a", 1), ("F b", 1)], semantics=semantics)
        bad = math.nan if semantics == "robustness" else 1.5
        array = xp.as_tensor if library == "torch" else xp.asarray

        def told(state):
            return {atom: np.asarray(where).tolist() for atom, where in spec.invalid_labels(state).items()}

        state = spec.start({"a": array([0.5, 0.5, 1.0000001]), "b": array([0.0, bad, 0.0])})
        assert told(state) == {"a": [False, False, False], "b": [False, True, False]}
        state, _ = spec.step(state, {"a": array([math.nan, 0.5, 0.5]), "b": array([0.0, 0.0, 0.0])})
        state, _ = spec.step(state, {"a": array([0.5, 0.5, 0.5]), "b": array([0.0, 0.0, 0.0])})
        assert told(state) == {"a": [True, False, False], "b": [False, True, False]}
        good = {"a": array([0.5, 0.5, 0.5]), "b": array([0.0, 0.0, bad])}
        state = spec.reset(state, good, array([True, True, False]))  # only those that are reset are read
        assert told(state) == {"a": [True, False, False], "b": [False, True, False]}
        state = spec.reset(state, good, array([False, False, True]))
        assert told(state) == {"a": [True, False, False], "b": [False, True, True]}

    def test_it_can_be_switched_off(self):
        torch = pytest.importorskip("torch")
        spec = Spec([("G a", 1)])
        state = spec.start({"a": torch.tensor([2.0])}, check_labels=False)
        assert state.invalid is None
        with pytest.raises(LabelError, match="check_labels=True"):
            spec.invalid_labels(state)
        state = spec.initial_state(2, torch, check_labels=True)
        state, _ = spec.step(state, {"a": torch.tensor([2.0, 1.0])})
        assert spec.invalid_labels(state)["a"].tolist() == [True, False]

    def test_numpy_raises_at_once(self):
        spec = Spec([("G a", 1)])
        with pytest.raises(LabelError, match="should be in"):
            spec.start({"a": np.array([2.0])})
        with pytest.raises(LabelError, match="raises an error at once"):
            spec.invalid_labels(spec.start({"a": np.array([1.0])}))
