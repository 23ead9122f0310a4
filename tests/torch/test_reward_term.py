"""A spec as a term of a reward manager pays what single episodes pay, however environments are reset."""

import random
from collections import OrderedDict
from types import SimpleNamespace

import pytest
import torch

import rewardspec as rs
from rewardspec.episodes.features import Features
from rewardspec.torch import SpecObservation, SpecTerm
from tests.torch import managers

NUM_ENVS, DT = 6, 0.02
FORMULAS = [("F(a & F b)", 2), ("G(a -> F[0,5] b)", 1), ("a U[0,4] b", 1, False)]
ATOMS = {
    "a": lambda obs, action, next_obs: next_obs.a,
    "b": lambda obs, action, next_obs: next_obs.b,
}


class IsaacTerm(SpecTerm, managers.ManagerTermBase):
    """As Isaac Lab wants it."""


def make_manager(library, params, env, weight=3.0):
    if library == "stub":
        return managers.RewardManager({"spec": managers.RewardTermCfg(IsaacTerm, weight, params)}, env)
    mjlab = pytest.importorskip("mjlab.managers.reward_manager")
    return mjlab.RewardManager({"spec": mjlab.RewardTermCfg(func=SpecTerm, weight=weight, params=params)}, env)


class Env(SimpleNamespace):
    """Labels instead of physics, and ends of episodes."""

    def __init__(self, seed=0):
        super().__init__(num_envs=NUM_ENVS, device="cpu", step_dt=DT, max_episode_length_s=1.0, scene=None)
        self.rng = torch.Generator().manual_seed(seed)
        self.action_manager = SimpleNamespace(action=torch.zeros(NUM_ENVS, 1))
        self.a = self.b = None

    def advance(self):
        self.a, self.b = torch.randint(5, (2, NUM_ENVS), generator=self.rng) / 4
        ends = torch.rand(2, NUM_ENVS, generator=self.rng) < 0.1
        self.termination_manager = SimpleNamespace(terminated=ends[0], time_outs=ends[1] & ~ends[0])
        return ends.any(0)


def ids_in_some_form(mask, rng):
    """Indices of the environments to reset, in the forms in which managers pass them."""
    where = mask.nonzero()[:, 0]
    if mask.all():
        return rng.choice((None, slice(None), where))
    return rng.choice((where, where.tolist(), tuple(where.tolist()), mask))


@pytest.mark.parametrize("library", ["stub", "mjlab"])
@pytest.mark.parametrize("payment", ["value", "delta", "potential", "final"])
def test_a_term_pays_what_single_episodes_pay(library, payment):
    spec, env, rng = rs.Spec(FORMULAS, ATOMS, penalty=-1, payment=payment), Env(), random.Random(payment)
    manager = make_manager(library, {"spec": spec}, env)
    states = [spec.initial_state() for _ in range(NUM_ENVS)]
    for t in range(150):
        done = env.advance()
        found = manager.compute(DT)
        for k in range(NUM_ENVS):
            ends = bool(env.termination_manager.terminated[k]), bool(env.termination_manager.time_outs[k])
            labels = {"a": float(env.a[k]), "b": float(env.b[k])}
            states[k], reward = spec.step(states[k], labels, 0.0, *ends)
            assert found[k] == pytest.approx(3.0 * reward * (DT if payment == "value" else 1.0), abs=1e-5)
        term = manager.get_term_cfg("spec").func
        assert term.violated.tolist() == [spec.violated(state) for state in states]
        assert [value.tolist() for value in term.values.values()] == list(
            map(list, zip(*map(spec.values, states), strict=True))
        )
        done = done | bool(t % 40 == 39)
        if done.any():
            manager.reset(ids_in_some_form(done, rng))
            states = [spec.initial_state() if done[k] else state for k, state in enumerate(states)]
            assert not term.violated[done].any()


@pytest.mark.parametrize("payment", ["value", "delta"])
@pytest.mark.parametrize("observe", ["registers", "values", "control"])
def test_an_observation_term_shows_what_single_episodes_remember(observe, payment):
    spec, env, rng = rs.Spec(FORMULAS, ATOMS, penalty=-1, payment=payment), Env(), random.Random(observe)
    params = {"spec": spec, "term": "spec", "observe": observe}
    shown = SpecObservation(SimpleNamespace(params=params), env)
    features = Features(spec, observe)
    assert shown.names == features.names
    assert shown(env, **params).shape == (NUM_ENVS, len(features.names))  # as asked before there is a reward manager
    env.reward_manager = manager = make_manager("stub", {"spec": spec}, env)
    states = [spec.initial_state() for _ in range(NUM_ENVS)]
    for _ in range(60):
        expected = torch.tensor([features.read(state) for state in states], dtype=torch.float32)
        torch.testing.assert_close(shown(env, **params), expected)
        done = env.advance()
        manager.compute(DT)
        for k in range(NUM_ENVS):
            states[k], _ = spec.step(states[k], {"a": float(env.a[k]), "b": float(env.b[k])}, 0.0)
        if done.any():
            manager.reset(ids_in_some_form(done, rng))
            states = [spec.initial_state() if done[k] else state for k, state in enumerate(states)]


def test_an_observation_term_needs_a_spec_and_the_name_of_its_reward_term():
    spec, env = rs.Spec([("F a", 1)], ATOMS), Env()
    with pytest.raises(rs.SpecError, match="should have a 'spec'"):
        SpecObservation(SimpleNamespace(params={}), env)
    shown = SpecObservation(SimpleNamespace(params={"spec": spec}), env)
    env.reward_manager = SimpleNamespace(get_term_cfg=lambda name: SimpleNamespace(func=torch.zeros))
    with pytest.raises(rs.SpecError, match="Received 'speed', which is a builtin"):
        shown(env, spec, "speed")


def test_atoms_can_read_what_an_observation_function_returns():
    """The observation before the first step of an episode is the one after it: that of a reset cannot be read."""
    rose = {"rose": lambda obs, action, next_obs: (next_obs["x"][:, 0] > obs["x"][:, 0]) * 1.0}
    spec, env = rs.Spec([("F rose", 1)], rose), Env()
    env.x = torch.zeros(NUM_ENVS, 1)  # one tensor, which is written over, as in simulators
    manager = make_manager("stub", {"spec": spec, "observation": lambda env: {"x": env.x}}, env)
    paid = []
    for t in range(4):
        env.advance()
        env.x += 1.0
        paid.append((manager.compute(DT) / (3.0 * DT)).round().tolist())
        if t == 1:
            manager.reset([0])
    assert [row[0] for row in paid] == [0, 1, 0, 1]
    assert [row[1] for row in paid] == [0, 1, 1, 1]


@pytest.mark.parametrize("group", [dict, OrderedDict])
def test_observations_may_have_gradients(group):
    spec = rs.Spec([("F moved", 1)], {"moved": lambda obs, action, next_obs: (next_obs["x"] != obs["x"]) * 1.0})
    env = SimpleNamespace(num_envs=2, device="cpu", step_dt=DT, force=torch.zeros(2, requires_grad=True))
    params = {"spec": spec, "observation": lambda env: group(x=env.force * 2.0)}
    term = SpecTerm(SimpleNamespace(params=params), env)
    assert term(env, **params).tolist() == [0.0, 0.0]
    env.force = torch.tensor([0.0, 1.0], requires_grad=True)
    assert term(env, **params).tolist() == [0.0, 1.0]


def test_rates_and_sums_are_not_mixed_without_saying_so():
    spec = rs.Spec([("F a", 1), rs.Pair("F b", 1, payment="final")], ATOMS)
    with pytest.raises(rs.SpecError, match=r"value, final\. Use two terms"):
        make_manager("stub", {"spec": spec}, Env())
    manager = make_manager("stub", {"spec": spec, "divide_by_dt": True}, env := Env())
    env.advance()
    assert manager.compute(DT).shape == (NUM_ENVS,)
    spec = rs.Spec([rs.Pair("G a", 1, payment="delta")], ATOMS, penalty=-1)  # which is paid by value
    with pytest.raises(rs.SpecError, match=r"value, delta\. Use two terms"):
        make_manager("stub", {"spec": spec}, Env())
    make_manager("stub", {"spec": spec.replace(penalty=0)}, Env())
    with pytest.raises(rs.SpecError, match="should have a 'spec'"):
        SpecTerm(SimpleNamespace(params={}), Env())


def test_steps_in_inference_mode_and_resets_outside_of_it():
    manager = make_manager("stub", {"spec": rs.Spec(FORMULAS, ATOMS)}, env := Env())
    for _ in range(3):
        with torch.inference_mode():
            env.advance()
            manager.compute(DT)
        manager.reset(torch.tensor([1, 2]))
    with torch.no_grad():
        manager.compute(DT)


@pytest.mark.parametrize("nothing", [[], (), torch.tensor([], dtype=torch.long), slice(0, 0), torch.zeros(6) > 0])
def test_a_reset_of_no_environment_changes_nothing(nothing):
    manager = make_manager("stub", {"spec": rs.Spec([("F a", 1)], ATOMS)}, env := Env())
    env.advance()
    env.a = torch.linspace(0, 1, NUM_ENVS)
    first = manager.compute(DT)
    manager.reset(nothing)
    env.a = torch.zeros(NUM_ENVS)
    assert manager.compute(DT).tolist() == first.tolist()


def test_atoms_may_be_numbers_for_all_environments():
    spec = rs.Spec([("F a", 1), ("F b", 1)], {"a": lambda obs, action, env: 0.5, "b": lambda obs, action, env: True})
    manager = make_manager("stub", {"spec": spec}, env := Env(), weight=1.0)
    for _ in range(2):
        env.advance()
        torch.testing.assert_close(manager.compute(DT), torch.full((NUM_ENVS,), 1.5 * DT))


def test_labels_out_of_range_are_noted():
    spec = rs.Spec([("F a", 1)], ATOMS)
    manager = make_manager("stub", {"spec": spec}, env := Env())
    env.advance()
    env.a = torch.tensor([0.0, 1.5, 0.5, float("nan"), 0.0, 1.0])
    manager.compute(DT)
    term = manager.get_term_cfg("spec").func
    assert term.invalid_labels["a"].tolist() == [False, True, False, True, False, False]


def test_a_label_of_one_environment_is_not_taken_for_all():
    spec = rs.Spec([("F a", 1)], {"a": lambda obs, action, env: env.a[0]})
    manager = make_manager("stub", {"spec": spec}, env := Env())
    env.advance()
    with pytest.raises(rs.LabelError, match=r"should have shape \(6,\), one for each environment. Received shape \(\)"):
        manager.compute(DT)


@pytest.mark.parametrize("payment", ["final", "potential"])
def test_payments_at_the_end_need_to_know_where_episodes_end(payment):
    spec = rs.Spec([("F a", 1)], {"a": lambda obs, action, env: env.a}, payment=payment)
    env = SimpleNamespace(num_envs=2, device="cpu", step_dt=DT, a=torch.zeros(2))
    term = SpecTerm(SimpleNamespace(params={"spec": spec}), env)
    with pytest.raises(rs.SpecError, match=f"should have a `termination_manager`.*{payment!r}"):
        term(env, spec)


def test_a_spec_about_things_that_appear_is_refused_before_the_first_step():
    spec = rs.Spec([("forall o: F p(o)", 1)], {"p": lambda obs, action, env: {}}, sorts={"o": "names"})
    with pytest.raises(rs.SpecError, match="one episode at a time"):
        SpecTerm(SimpleNamespace(params={"spec": spec}), Env())
