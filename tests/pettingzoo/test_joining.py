"""Agents that join, leave and come back, with observed registers and recorded episodes, held to the definition."""

import warnings

import numpy as np
import pytest

import rewardspec as rs
from tests.synthesis.progress_definition import TooManyError

pettingzoo = pytest.importorskip("pettingzoo")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of PettingZoo, about its own imports
    from rewardspec.pettingzoo import AECMonitorReward, ParallelMonitorReward, per_agent
    from tests.pettingzoo.joining import Crowd, Episode, Queue, Team, Visits
    from tests.pettingzoo.test_wrappers import AGENTS, team_cases

FOLLOWED = ("robot_0", "dog")  # who have a spec of their own
pytestmark = pytest.mark.filterwarnings("ignore:The safety objective")


def own_spec(rng):
    atoms = {
        "a": lambda obs, action, next_obs: 0.5 if action is None else action / 2,
        "b": lambda obs, action, next_obs, info: info["b"],
        "c": lambda obs, action, next_obs: obs[3],
    }
    payment = rng.choice(["value", "delta", "final", "potential"])
    return rs.Spec([("F[0,3] a | G c", 1), ("G(b | X b)", 1, False)], atoms, payment=payment)


def team_atoms(spec):
    """Atoms that read observations before and after, actions and infos, of members that may not be there."""
    things = {sort: dict(zip(names, AGENTS, strict=False)) for sort, names in spec.sorts.items()}

    def read(obs, agent, place):
        return obs[agent][place] if agent in obs else 0.5

    def about(sort, place):
        return lambda obs, action, next_obs: {t: read(next_obs, agent, place) for t, agent in things[sort].items()}

    def a(obs, action, next_obs):
        return 0.5 if action is None else sum(taken or 0 for taken in action.values()) / 6

    def b(obs, action, next_obs, info):
        return sum(one["b"] * one["active"] for one in info.values()) / 3

    def c(obs, action, next_obs):
        return sum(read(obs, agent, 3) for agent in AGENTS) / 3

    return {"a": a, "b": b, "c": c, "p": about("x", 0), "q": about("x", 1), "r": about("y", 2)}


def random_stays(rng, steps, longest, starts):
    """Times of the members, some of whom come back; another agent is there all the time."""
    stays = {}
    returns = rng.random() < 0.5
    for agent in AGENTS:
        stays[agent], time = [], rng.choice(starts)
        while time < steps and (returns or not stays[agent]):
            leaves = min(steps, time + rng.randint(2, longest))
            stays[agent].append((time, leaves, rng.random() < 0.4))
            time = leaves + rng.randint(2, longest)
    stays["dog"] = [(0, steps, False)]
    return dict(reversed(stays.items())) if rng.random() < 0.5 else stays


def random_visits(rng, spec, steps, longest, starts):
    visits = Visits(random_stays(rng, steps, longest, starts), steps, rng.randrange(1000))
    while not any(visits.here(agent, 0) for agent in AGENTS):
        visits = Visits(random_stays(rng, steps, longest, starts), steps, rng.randrange(1000))
    return visits, Team(spec, AGENTS, visits)


def assert_shown(env, agent, obs, visits, own, team):
    """Compare an observation with the agent's own, what its spec shows, and what the team's spec shows."""
    expected = [*visits.path[agent][visits.time]]
    if agent in FOLLOWED:
        expected += own[agent].shown
    if agent in AGENTS:
        expected += team.episode.shown
    np.testing.assert_allclose(obs, expected, atol=1e-9)
    assert env.observation_space(agent).contains(obs)


def test_agents_that_act_at_once():
    compared = begun_again = 0
    for rng, drawn in team_cases(14, seed=7):
        spec, mine = drawn.replace(atoms=team_atoms(drawn)), own_spec(rng)
        visits, team = random_visits(rng, spec, 14, 4, [0, 0, 1, 3])
        specs = dict.fromkeys(FOLLOWED, mine)
        env = ParallelMonitorReward(Crowd(visits), specs, spec, team=AGENTS, observe="registers", record=True)
        own = {}

        def begin(agents, visits=visits, mine=mine, own=own):
            for agent in agents:
                if agent in FOLLOWED:
                    own[agent] = Episode(mine, visits.path[agent][visits.time], visits.info(agent, visits.time))

        obs, infos = env.reset(seed=0)
        begin(env.agents)
        team.see(env.agents)
        team.begin()
        try:
            while env.agents:
                for agent in obs:
                    assert_shown(env, agent, obs[agent], visits, own, team)
                acting = env.agents
                actions = {agent: rng.randrange(3) for agent in acting}
                obs, rewards, terminations, truncations, infos = env.step(actions)
                time, paid = visits.time, {}
                for agent in own.keys() & acting:
                    steps = visits.path[agent][time - 1], actions[agent], visits.path[agent][time]
                    ends = visits.reward(agent, time), terminations[agent], truncations[agent]
                    paid[agent] = own[agent].step(*steps, visits.info(agent, time), *ends)
                begin(agent for agent in env.agents if agent not in acting)
                members = [agent for agent in acting if agent in AGENTS]
                team.see([*acting, *env.agents])
                if team.runs:
                    base = sum(visits.reward(agent, time) for agent in members)
                    shared = team.step(actions, base, not any(agent in AGENTS for agent in env.agents))
                    for agent in members:
                        paid[agent] = paid.get(agent, 0.0) + shared
                        assert infos[agent]["team"] == infos[members[0]]["team"]
                    team.episode.told.append(infos[members[0]]["team"])
                    if not team.runs:
                        compared += team.episode.compare(env.explain())
                assert rewards == pytest.approx(paid)
                if not team.runs and any(agent in AGENTS for agent in env.agents):
                    team.begin()
                    begun_again += 1
            compared += team.episode.compare(env.explain())
        except TooManyError:
            continue
    assert compared > 60
    assert begun_again > 3


def test_agents_that_take_turns():
    compared = begun_again = 0
    for rng, drawn in team_cases(30, seed=8):
        spec, mine = drawn.replace(atoms=team_atoms(drawn)), own_spec(rng)
        visits, team = random_visits(rng, spec, 24, 12, [0, 0, 2, 5])
        specs = dict.fromkeys(FOLLOWED, mine)
        world = Queue(visits, rng.choice([0.0, 0.3]))
        env = AECMonitorReward(world, specs, spec, team=AGENTS, observe="registers", record=True)
        own, begun, turns, base, acted, round_base = {}, set(), {}, {}, {}, 0.0
        env.reset(seed=0)
        due = dict.fromkeys(env.agents, 0.0)

        def begin(agent, visits=visits, mine=mine, own=own, begun=begun):
            begun.add(agent)
            if agent in FOLLOWED:
                own[agent] = Episode(mine, visits.path[agent][visits.time], visits.info(agent, visits.time))

        begin(env.agent_selection)
        team.see(env.agents)
        team.begin()
        try:
            while env.agents:
                agent, start = env.agent_selection, visits.time
                obs, reward, terminated, truncated, _ = env.last()
                assert reward == pytest.approx(due[agent])
                assert_shown(env, agent, obs, visits, own, team)
                there = list(env.agents)
                if terminated or truncated:
                    env.step(None)
                    del due[agent]
                else:
                    action = rng.randrange(3)
                    due[agent], turns[agent], acted[agent] = 0.0, (visits.path[agent][start], action), action
                    env.step(action)
                time, gone, paid = visits.time, [], {}
                if time > start:
                    gone = [a for a in there if not visits.here(a, time)]
                    for other in there:
                        base[other] = base.get(other, 0.0) + visits.reward(other, time)
                        round_base += visits.reward(other, time) * (other in AGENTS)
                present = [a for a in env.agents if visits.here(a, time)]
                team.see(gone)
                selected = env.agent_selection if present and env.agent_selection in present else None
                for other in [*gone, selected] if selected else gone:
                    if other in turns:
                        before, action = turns.pop(other)
                        ends = base.pop(other), *visits.ends(other, time)
                        if other in own:
                            now = visits.path[other][time], visits.info(other, time)
                            paid[other] = own[other].step(before, action, *now, *ends)
                    elif other not in begun:
                        begin(other)
                for other in gone:
                    begun.discard(other)
                    base.pop(other, None)
                members = [a for a in present if a in AGENTS]
                if team.runs and acted and (not members or selected in acted):
                    team.see(present)
                    shared = team.step(acted, round_base, not members)
                    sharing = [a for a in env.agents if a in AGENTS]
                    for other in sharing:
                        paid[other] = paid.get(other, 0.0) + shared
                    team.episode.told.append(env.infos[sharing[0]]["team"])
                    acted, round_base = {}, 0.0
                    if not team.runs:
                        compared += team.episode.compare(env.explain())
                if not team.runs and members:
                    team.see(present)
                    team.begin()
                    acted, round_base = {}, 0.0
                    begun_again += 1
                for other in env.agents:
                    assert env.rewards[other] == pytest.approx(paid.get(other, 0.0))
                    due[other] = due.get(other, 0.0) + paid.get(other, 0.0)
            compared += team.episode.compare(env.explain() if team.runs else None)
        except TooManyError:
            continue
    assert compared > 150
    assert begun_again > 1


def test_an_atom_about_each_agent_reads_the_first_observation_of_one_that_joins_as_that_before():
    visits = Visits({"robot_0": [(0, 6, False)], "robot_1": [(2, 6, False)]}, 6, seed=1)
    rises = {"rises": per_agent("next_obs[0] - obs[0]")}
    spec = rs.Spec([("mean robot: now rises(robot)", 1)], rises, sorts={"robot": "names"}, clip=True)
    env = ParallelMonitorReward(Crowd(visits), team_spec=spec)
    env.reset()
    paid = []
    while env.agents:
        paid.append(env.step(dict.fromkeys(env.agents, 0))[1]["robot_0"])
    first, second = (np.maximum(np.diff(visits.path[agent][:, 0]), 0.0) for agent in visits.stays)
    assert paid == pytest.approx([first[0], first[1] / 2, *((first + second)[2:] / 2)])


@pytest.mark.parametrize(("world", "wrapper"), [(Crowd, ParallelMonitorReward), (Queue, AECMonitorReward)])
def test_an_agent_that_the_environment_did_not_announce_is_named(world, wrapper):
    visits = Visits({"robot_0": [(0, 6, False)], "robot_1": [(2, 6, False)]}, 6, seed=1)
    env = world(visits)
    env.possible_agents = ["robot_0"]
    wrapped = wrapper(env, rs.Spec([("F high", 1)], {"high": "next_obs[0]"}))
    env.possible_agents = ["robot_0", "robot_1"]
    wrapped.reset()
    wrapped.step(dict.fromkeys(wrapped.agents, 0) if world is Crowd else 0)
    with pytest.raises(rs.Error, match=r"`possible_agents` should have all agents.* has robot_0\. Received 'robot_1'"):
        wrapped.step(dict.fromkeys(wrapped.agents, 0) if world is Crowd else 0)
