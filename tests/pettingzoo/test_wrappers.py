"""Rewards of agents and teams in PettingZoo environments, held to the definition of what a spec pays."""

import random
import warnings

import numpy as np
import pytest

import rewardspec as rs
from rewardspec.errors import SynthesisError
from tests.agreement.playback import Playback, ended_episodes
from tests.spec_cases import random_spec, read, vetoes_at_once
from tests.spec_definition import horizon, judged_by_definition, paid_by_definition
from tests.synthesis.progress_definition import TooManyError

pettingzoo = pytest.importorskip("pettingzoo")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of PettingZoo, about its own imports
    from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

from rewardspec.pettingzoo import AECMonitorReward, ParallelMonitorReward, per_agent  # noqa: E402
from tests.pettingzoo.worlds import Troupe, TurnTroupe, Walk, play_parallel, play_turns  # noqa: E402

KINDS = pytest.mark.parametrize(
    ("world", "wrapper", "play"),
    [(Troupe, ParallelMonitorReward, play_parallel), (TurnTroupe, AECMonitorReward, play_turns)],
    ids=["parallel", "aec"],
)
AGENTS = ("robot_0", "robot_1", "robot_2")
HIGH = {"high": "next_obs[0]", "low": "next_obs[1] < 0.3"}


def troupe(world, lengths=(3, 7, 5)):
    return world({agent: Walk(length, agent == "robot_2") for agent, length in zip(AGENTS, lengths, strict=True)})


def team_spec(**options):
    atoms = {"high": per_agent("next_obs[0]"), "calm": lambda obs, action, next_obs: next_obs["robot_0"][1] < 2}
    pairs = [("mean agent: F high(agent)", 2), ("G calm", 1)]
    return rs.Spec(pairs, atoms=atoms, sorts={"agent": AGENTS}, **options)


@KINDS
def test_each_agent_is_paid_what_its_spec_pays_by_the_definition(world, wrapper, play):
    """Three specs and three episodes at a time, by random specs in which all features meet."""
    compared = 0
    cases = [case for case in read() if len(ended_episodes(case))][:90]
    for first in range(0, len(cases), 3):
        trio = dict(zip(AGENTS, cases[first : first + 3], strict=True))
        episodes = {agent: int(ended_episodes(case)[first % len(ended_episodes(case))]) for agent, case in trio.items()}
        streams = {agent: Playback(case, [episodes[agent]]) for agent, case in trio.items()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rewardspec.pettingzoo.followers.warn_of_violation", lambda *args, **kwargs: None)
            env = wrapper(world(streams), {agent: case.spec for agent, case in trio.items()})
            found = play(env, lambda agent, at, streams=streams: streams[agent].next_action())
        for agent, case in trio.items():
            episode, steps = episodes[agent], found[agent]
            length = case.steps_of(episode)
            assert len(steps) == length + 1
            rewards = [reward for _, reward, *_ in steps[1:]]
            np.testing.assert_allclose(rewards, case.paid.rewards[:length, episode], atol=1e-9)
            infos = [info for *_, info in steps]
            values = [list(info["formula_values"].values()) for info in infos]
            names = len(infos[0]["formula_values"])
            if names == len(case.spec.pairs):
                np.testing.assert_allclose(values, case.paid.values[:, : length + 1, episode].T, atol=1e-9)
            assert [info["violated"] for info in infos] == case.paid.violated[: length + 1, episode].tolist()
            assert [info["cost"] for info in infos] == case.paid.cost[: length + 1, episode].tolist()
            base = [info["base_reward"] for info in infos[1:]]
            assert base == case.base_rewards[:length, episode].tolist()
            assert infos[-1]["episode"]["return"] == pytest.approx(sum(rewards))
            assert infos[-1]["episode"]["base_return"] == pytest.approx(sum(base))
            assert infos[-1]["episode"]["length"] == length
            compared += length
    assert compared > 500


def team_cases(count, seed=5):
    """Random specs about agents that the definition can be computed of."""
    rng = random.Random(seed)
    while count:
        spec = random_spec(rng, quantified=True)
        if any(horizon(pair.body) > 20 for pair in spec.pairs):
            continue
        try:
            if not all(vetoes_at_once(pair.body) for pair in spec.pairs if pair.vetoes):
                continue
            _ = spec.machine
        except SynthesisError:
            continue
        count -= 1
        yield rng, spec


def team_atoms(spec):
    """Atoms about agents: thing k of a sort is agent k; what is about no thing is read from the first agent."""
    things = {sort: dict(zip(names, AGENTS, strict=False)) for sort, names in spec.sorts.items()}

    def about(sort, place):
        return lambda obs, action, next_obs: {t: next_obs[agent][place] for t, agent in things[sort].items()}

    def c(obs, action, next_obs):
        taken = None if action is None else action["robot_0"]
        return next_obs["robot_0"][3] if taken is None else obs["robot_0"][3]

    def b(obs, action, next_obs, info):
        return info["robot_0"]["b"]

    one = {"a": lambda obs, action, next_obs: next_obs["robot_0"][2], "b": b, "c": c}
    return one | {"p": about("x", 0), "q": about("x", 1), "r": about("y", 2)}


def team_labels(spec, streams, lengths):
    """The labels that the team's atoms have, spelled out: an agent that has left keeps its last observation."""
    steps = max(lengths)

    def seen(agent, at):
        return streams[agent].path[min(at, streams[agent].length)]

    of_things = {
        f"{atom}({thing})": [seen(AGENTS[k], at)[place] for at in range(steps + 1)]
        for atom, sort, place in (("p", "x", 0), ("q", "x", 1), ("r", "y", 2))
        for k, thing in enumerate(spec.sorts[sort])
    }
    acts = [0 < at <= lengths[0] for at in range(steps + 1)]
    one = {
        "a": [seen("robot_0", at)[2] for at in range(steps + 1)],
        "b": [seen("robot_0", at)[4] for at in range(steps + 1)],
        "c": [seen("robot_0", at - 1 if acts[at] else at)[3] for at in range(steps + 1)],
    }
    return {name: np.array(column, dtype=float)[:, None] for name, column in (one | of_things).items()}


@pytest.mark.parametrize(
    ("world", "wrapper", "play", "ends"),
    [
        (Troupe, ParallelMonitorReward, play_parallel, False),
        (Troupe, ParallelMonitorReward, play_parallel, True),
        (TurnTroupe, AECMonitorReward, play_turns, False),
    ],
    ids=["parallel", "parallel, ends at a violation", "aec"],
)
@pytest.mark.filterwarnings("ignore:The safety objective")
def test_the_team_shares_what_its_spec_pays_by_the_definition(world, wrapper, play, ends):
    compared = ended = 0
    for rng, drawn in team_cases(25):
        spec = drawn.replace(atoms=team_atoms(drawn))
        lengths = [rng.randint(1, 7) for _ in AGENTS]
        streams = {a: Walk(length, rng.random() < 0.5) for a, length in zip(AGENTS, lengths, strict=True)}
        other = {"dog": Walk(rng.randint(1, 12), rng.random() < 0.5)}  # not in the team, and may outlive it
        others_first = rng.random() < 0.5
        env = wrapper(
            world({**other, **streams} if others_first else {**streams, **other}),
            team_spec=spec,
            team=AGENTS,
            terminate_on_violation=ends,
        )
        found = play(env, seed=compared)
        labels = team_labels(spec, streams, lengths)
        last = [k for k, length in enumerate(lengths) if length == max(lengths)]
        cut = any(streams[AGENTS[k]].truncates for k in last)
        terminated = np.zeros((max(lengths), 1), dtype=bool)
        truncated = terminated.copy()
        (truncated if cut else terminated)[-1] = True
        base = [
            sum(s.path[at, 0] - 0.5 for s in streams.values() if at <= s.length) for at in range(1, max(lengths) + 1)
        ]
        try:
            judged = judged_by_definition(spec, labels)
        except TooManyError:
            continue
        paid = paid_by_definition(
            spec, judged, np.array(base)[:, None], terminated, truncated, terminate_on_violation=ends
        )
        violations = np.flatnonzero(paid.violated[:, 0])
        over = max(1, violations[0]) if ends and len(violations) else max(lengths)
        ended += over < max(lengths)
        for agent, length in zip(AGENTS, lengths, strict=True):
            steps = found[agent][1:]
            parts = min(length, over)
            if wrapper is AECMonitorReward and agent != AGENTS[last[-1]]:
                parts -= 1  # it is gone when its last round ends, and has no part in it
            told = [info["team"] for *_, info in steps][:parts]
            rewards = [reward for _, reward, *_ in steps][:parts]
            assert ["episode" in info for info in told] == [at == over for at in range(1, len(told) + 1)]
            np.testing.assert_allclose(rewards, paid.rewards[:parts, 0], atol=1e-9)
            assert [info["cost"] for info in told] == paid.cost[1 : len(told) + 1, 0].tolist()
            compared += parts
    assert compared > 150
    assert not ends or ended > 3


@KINDS
@pytest.mark.parametrize(
    "options", [{}, {"observe": "registers"}, {"observe": "values", "terminate_on_violation": True}], ids=str
)
@pytest.mark.filterwarnings("ignore")
def test_wrapped_environments_pass_the_tests_of_pettingzoo(world, wrapper, play, options):
    def make():
        return wrapper(troupe(world), rs.Spec([("G !low", 1), ("F high", 1)], HIGH), team_spec(), **options)

    if wrapper is ParallelMonitorReward:
        parallel_api_test(make(), 50)
        parallel_seed_test(make, 20)
    else:
        api_test(make(), 50)
        seed_test(make, 20)


def test_a_team_reward_before_the_first_turn_of_an_agent_is_part_of_its_return():
    class OutOfTurn(TurnTroupe):
        def step(self, action):
            super().step(action)
            self.turn = getattr(self, "turn", 0) + 1
            if self.turn < 4:  # the first two agents act twice before the third does
                self.agent_selection = AGENTS[self.turn % 2]

    env = AECMonitorReward(troupe(OutOfTurn, (9, 9, 1)), team_spec=rs.Spec([("F true", 1)], {}))
    env.reset(seed=1)
    paid = 0.0
    for _ in range(5):
        env.step(0)
        paid += env.rewards["robot_2"]
    assert paid == 1.0
    assert env.infos["robot_2"]["episode"]["return"] == paid


def test_an_agent_that_leaves_before_its_first_turn_is_told_of_its_episode():
    spec = rs.Spec([("G low", 1)], {"low": lambda obs, action, next_obs: 0.0}, penalty=-3)
    env = AECMonitorReward(troupe(TurnTroupe), {"robot_0": spec}, terminate_on_violation=True)
    with pytest.warns(UserWarning, match="first"):
        env.reset(seed=1)
    env.step(0)
    episodes = [env.infos[agent]["episode"] for agent in AGENTS]
    assert [(episode["return"], episode["length"]) for episode in episodes] == [(-3.0, 1), (0.0, 0), (0.0, 0)]


@KINDS
def test_a_violation_ends_the_episode_of_all(world, wrapper, play):
    crash = {"crash": lambda obs, action, next_obs, info: info.get("crash", 0.0)}

    class Crashing(Walk):
        def step(self, action):
            *rest, info = super().step(action)
            return *rest, {**info, "crash": float(self.elapsed == 2)}

    streams = {"robot_0": Walk(9), "robot_1": Crashing(9), "robot_2": Walk(9)}
    safe = rs.Spec([rs.Pair("G !crash", 1, penalty=-3, payment="final")], crash)
    env = wrapper(world(streams), safe, terminate_on_violation=True)
    found = play(env, seed=0)
    assert {agent: steps[-1][1:4] for agent, steps in found.items()} == {
        "robot_0": (1.0, True, False),
        "robot_1": (-3.0, True, False),
        "robot_2": (1.0, True, False),
    }
    assert [info["cost"] for *_, info in found["robot_1"]] == [0.0, 0.0, 1.0]
    assert env.agents == []
    assert all(steps[-1][4]["episode"]["violated"] == (agent == "robot_1") for agent, steps in found.items())


@KINDS
def test_specs_by_role_and_agents_outside_the_team(world, wrapper, play):
    streams = {"wolf_0": Walk(3), "wolf_1": Walk(3), "sheep_0": Walk(3), "dog": Walk(3)}
    two, three = (rs.Spec([("true", weight)], {}) for weight in (2, 3))
    pack = rs.Spec([("true", 10)], {})
    env = wrapper(world(streams), {"wolf": two, "wolf_1": three}, pack, team=["wolf", "dog"])
    found = play(env, seed=0)
    assert {agent: steps[1][1] for agent, steps in found.items()} == {
        "wolf_0": 12.0,
        "wolf_1": 13.0,
        "sheep_0": streams["sheep_0"].path[1, 0] - 0.5,
        "dog": 10.0,
    }
    # In turn, wolf_0 is gone when the last round ends.
    assert found["wolf_0"][-1][4]["episode"]["return"] == (36.0 if world is Troupe else 26.0)
    assert found["dog"][-1][4]["team"]["episode"]["return"] == 30.0
    assert "team" not in found["sheep_0"][-1][4]


@KINDS
def test_agents_observe_their_own_registers_and_the_teams(world, wrapper, play):
    env = wrapper(troupe(world), rs.Spec([("F high", 1)], HIGH), team_spec(), observe="registers")
    found = play(env, seed=3)
    for agent, steps in found.items():
        for number, (obs, *_, info) in enumerate(steps):
            assert env.observation_space(agent).contains(obs)
            if number:
                assert obs[5] == info["formula_values"]["F high"]
    longest = found["robot_1"]
    values = [obs[6:9].mean() for obs, *_ in longest]
    means = [info["team"]["formula_values"]["mean agent: F high(agent)"] for *_, info in longest]
    assert values == pytest.approx(means)


@KINDS
def test_explanations_name_the_agent(world, wrapper, play):
    spec = rs.Spec(
        [("forall agent: G !low(agent)", 1, False)], {"low": per_agent("next_obs[1]")}, sorts={"agent": AGENTS}
    )
    env = wrapper(troupe(world), team_spec=spec, record=True)
    play(env, seed=1)
    assert "agent robot_" in str(env.explain())
    with pytest.raises(rs.SpecError, match="was not kept"):
        env.explain("robot_0")
    with pytest.raises(rs.SpecError, match="Did you mean 'robot_0'"):
        env.explain("robot0")


def test_a_comparison_about_each_agent_is_a_margin_in_robustness():
    spec = rs.Spec(
        [("forall agent: G low(agent)", 1)],
        {"low": per_agent("next_obs[0] < 0.25")},
        semantics="robustness",
        sorts={"agent": AGENTS[:2]},
    )
    seen = {"robot_0": np.array([0.0]), "robot_1": np.array([0.75])}
    assert spec.labels(seen, None, seen) == {"low(robot_0)": 0.25, "low(robot_1)": -0.5}
    assert spec.violated(spec.start(spec.labels(seen, None, seen)))
    assert rs.Spec.from_toml(spec.to_toml()) == spec
    assert spec.replace(semantics="degree").labels(seen, None, seen) == {"low(robot_0)": 1.0, "low(robot_1)": 0.0}


@KINDS
def test_bad_arguments_are_named(world, wrapper, play):
    spec = rs.Spec([("F high", 1)], HIGH)
    with pytest.raises(rs.SpecError, match="a spec for agents or for the team"):
        wrapper(troupe(world))
    with pytest.raises(rs.SpecError, match="Did you mean 'robot'"):
        wrapper(troupe(world), {"robt": spec})
    with pytest.raises(rs.SpecError, match="there is none"):
        wrapper(troupe(world), spec, team=["robot"])
    with pytest.raises(rs.SpecError, match="should be one spec"):
        wrapper(troupe(world), team_spec={"robot": spec})
    with pytest.raises(rs.SpecError, match=r"'agent' should be agents of the team.*: robot_0, robot_1. .* 'robot_2'"):
        wrapper(troupe(world), team_spec=team_spec(), team=AGENTS[:2])
    with pytest.raises(rs.SpecError, match="Wrap one"):
        wrapper(troupe(TurnTroupe if world is Troupe else Troupe), spec)


@KINDS
def test_an_episode_does_not_go_on_after_a_bad_label(world, wrapper, play):
    env = wrapper(troupe(world), rs.Spec([("F high", 1)], {"high": "5 * next_obs[0]"}))
    with pytest.raises(rs.LabelError, match="high"):
        play(env, seed=0)
    with pytest.raises(Exception, match=r"Call reset\(\)"):
        env.step({} if world is Troupe else 0)


@KINDS
def test_a_member_that_joins_when_all_others_have_left_begins_another_episode_of_the_team(world, wrapper, play):
    """m_0 acts twice; m_1 joins when it has left; dog, which is in no team, is there all the time."""

    class Relay(world):
        def reset(self, *args, **kwargs):
            found = super().reset(*args, **kwargs)
            self.agents.remove("m_1")
            if world is TurnTroupe:
                return None
            return tuple({agent: part[agent] for agent in self.agents} for part in found)

        def step(self, action):
            has_left = "m_0" not in self.agents
            found = super().step(action)
            if has_left and not self.joined:
                self.joined = True
                self.agents.append("m_1")
                if found is not None:
                    found[0]["m_1"] = self.streams["m_1"].path[0]
            return found

    streams = {"dog": Walk(8), "m_0": Walk(2), "m_1": Walk(3)}
    relay = Relay(streams)
    relay.joined = False
    spec = rs.Spec([("F true", 1)], {}, payment="final")
    env = wrapper(relay, team_spec=spec, team=["m"])
    if world is Troupe:
        env.reset(seed=1)
        paid, ends = {"m_0": [], "m_1": []}, []
        while env.agents:
            _, rewards, _, _, infos = env.step(dict.fromkeys(env.agents, 0))
            for agent in paid.keys() & rewards.keys():
                paid[agent].append(rewards[agent])
                ends += [infos[agent]["team"]["episode"]["length"]] if "episode" in infos[agent]["team"] else []
        assert paid == {"m_0": [0.0, 1.0], "m_1": [0.0, 0.0, 1.0]}
        assert ends == [2, 3]
    else:
        env.reset(seed=1)
        paid, lengths = {"dog": [], "m_0": [], "m_1": []}, []
        for agent in env.agent_iter():
            _, reward, terminated, truncated, info = env.last()
            paid[agent].append(reward)
            lengths += [info["team"]["episode"]["length"]] if "episode" in info.get("team", {}) else []
            env.step(None if terminated or truncated else 0)
        assert sum(paid["m_0"]) == sum(paid["m_1"]) == 1.0
        assert len(lengths) == 2
