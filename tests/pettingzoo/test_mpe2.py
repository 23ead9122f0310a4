"""Environments of mpe2 and PettingZoo, and PettingZoo's own tests on them: `make pettingzoo`."""

import importlib
import warnings

import numpy as np
import pytest

import rewardspec as rs

pytestmark = [pytest.mark.mpe2, pytest.mark.filterwarnings("ignore")]  # the packages' own warnings
pytest.importorskip("mpe2")

from rewardspec.pettingzoo import AECMonitorReward, ParallelMonitorReward, per_agent  # noqa: E402
from tests.pettingzoo.worlds import play_parallel, play_turns  # noqa: E402


def require(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(module)
        except ImportError as error:
            pytest.skip(f"needs {error.name}, which is not installed")


def first(obs):
    """A number in [0, 1] from any observation."""
    while isinstance(obs, dict | tuple | list):
        obs = next(iter(obs.values())) if isinstance(obs, dict) else obs[0]
    number = float(np.ravel(obs)[0]) if np.size(obs) else 0.0
    return abs(number) / (1.0 + abs(number))


ATOMS = {"a": lambda obs, action, next_obs: first(next_obs), "b": lambda obs, action, next_obs: action == 1}
OWN = rs.Spec([("G(a -> F[0,3] b)", 1, False), rs.Pair("F a", 2, payment="delta")], ATOMS)


def team(env):
    atoms = {"a": per_agent(ATOMS["a"]), "b": per_agent(ATOMS["b"])}
    pairs = [("forall agent: G(a(agent) -> F[0,3] b(agent))", 1, False), ("mean agent: F b(agent)", 1)]
    return rs.Spec(pairs, atoms, sorts={"agent": env.possible_agents})


WORLDS = {
    "spread": ("mpe2.simple_spread_v3", {}),
    "tag": ("mpe2.simple_tag_v3", {}),
    "speaker_listener": ("mpe2.simple_speaker_listener_v4", {}),
    "knights_archers_zombies": ("pettingzoo.butterfly.knights_archers_zombies_v11", {"max_cycles": 300}),
    "rps": ("pettingzoo.classic.rps_v2", {"max_cycles": 20}),
}
TURNS = WORLDS | {
    "tictactoe": ("pettingzoo.classic.tictactoe_v3", {}),
    "connect_four": ("pettingzoo.classic.connect_four_v3", {}),
}
OPTIONS = [{}, {"observe": "values"}, {"terminate_on_violation": True}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", WORLDS)
def test_parallel_environments_pass_the_tests_of_pettingzoo(name, options):
    module, arguments = WORLDS[name]
    world, tests = require(module), require("pettingzoo.test")

    def make():
        env = world.parallel_env(**arguments)
        return ParallelMonitorReward(env, OWN, team(env), **options)

    tests.parallel_api_test(make(), 200)
    tests.parallel_seed_test(make, 50)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", TURNS)
def test_environments_with_turns_pass_the_tests_of_pettingzoo(name, options):
    module, arguments = TURNS[name]
    world, tests = require(module), require("pettingzoo.test")

    def make():
        env = world.env(**arguments)
        return AECMonitorReward(env, OWN, team(env), **options)

    tests.api_test(make(), 200)
    tests.seed_test(make, 50)


@pytest.mark.parametrize("name", ["spread", "tag"])
def test_both_wrappers_pay_the_same_for_the_same_actions(name):
    module, arguments = WORLDS[name]
    world = require(module)
    both = world.parallel_env(**arguments), world.env(**arguments)
    actions = np.random.default_rng(0).integers(0, 5, (100, 8))
    agents = both[0].possible_agents

    def act(agent, at):
        return int(actions[at, agents.index(agent)])

    at_once = play_parallel(ParallelMonitorReward(both[0], OWN, team(both[0])), act, seed=1)
    in_turn = play_turns(AECMonitorReward(both[1], OWN, team(both[1])), lambda agent, at: act(agent, at), seed=1)
    for agent in agents:
        expected, found = at_once[agent][1:], in_turn[agent][1:]
        assert len(expected) == len(found) > 10
        np.testing.assert_allclose([s[1] for s in found[:-1]], [s[1] for s in expected[:-1]], atol=1e-6)


def test_the_code_of_the_guide_runs():
    from tests.markdown import ROOT, run_script, scripts

    found = scripts(ROOT / "docs" / "guides" / "multi_agent.md")
    assert found
    for code in found:
        run_script(code)
