"""The environments that the paper's numbers speak for agree with the tables of the first author's own."""

import json
import pathlib

import numpy as np
import pytest

from rewardspec.finite.models import finite_model
from rewardspec.lab.learning.settings import PPO
from rewardspec.lab.learning.training import train
from rewardspec.lab.paper import as_published as published
from rewardspec.lab.paper.evaluation import paper_study
from rewardspec.lab.tasks.environments import island_navigation, sokoban
from rewardspec.lab.tasks.task import Task

GOLDEN = json.loads((pathlib.Path(__file__).parents[2] / "data" / "author_gridworlds.json").read_text())
TASKS = published.as_published()


def flat(value):
    """A state of the tables as the package writes it: cells are (row, column) there and (x, y) in the file."""
    return tuple((y, x) for x, y in value[:2]) + tuple(value[2:])


STATES = {
    "island_navigation": island_navigation.IslandNavigation.enumeration().states,
    "sokoban": sokoban.Sokoban.enumeration().states,
    "conveyor_belt": published.PublishedConveyorBelt.enumeration().states,
}


@pytest.mark.parametrize("name", STATES)
def test_every_transition_is_that_of_the_authors_environment(name):
    golden = GOLDEN[name]
    env = TASKS[name].make()
    model = finite_model(env)
    numbers = {tuple(state): number for number, state in enumerate(STATES[name])}
    ours = [numbers[flat(state)] for state in golden["states"]]
    assert TASKS[name].max_episode_steps == golden["max_episode_steps"]
    assert np.flatnonzero(model.initial).tolist() == [ours[golden["start"]]]
    table = env.unwrapped.P
    ends = {after for moves in golden["transitions"] for after, _, ended in moves if ended}
    for state, moves in enumerate(golden["transitions"]):
        if state in ends and state != golden["start"]:
            continue  # where an episode has ended, nothing follows
        for action, (after, reward, ended) in enumerate(moves):
            assert table[ours[state]][action] == [(1.0, ours[after], reward, ended)]


def test_a_taxi_with_one_start_starts_there_whatever_the_seed():
    env = TASKS["taxi"].make()
    assert len({env.reset(seed=seed)[0] for seed in range(5)}) == 1
    assert len(finite_model(env).starts) == 1


def test_readings_say_how_they_are_known_and_tasks_keep_their_names():
    assert {reading.known_from for reading in published.READINGS} == {"the authors' code", "the paper's text", "fit"}
    assert all(isinstance(task, Task) and task.name == name for name, task in TASKS.items())


STUDY = paper_study(as_published=True)


def test_learners_of_boolean_monitors_see_the_counter_of_g_true_alone():
    seen = {name: STUDY.reward(task, "boolean").observe for name, task in STUDY.tasks.items()}
    counting = {"acrobot", "lunar_lander", "island_navigation", "sokoban"}
    assert seen == {name: "registers-and-steps" if name in counting else "registers" for name in STUDY.tasks}
    quantitative = {(task.learner, STUDY.reward(task, "quantitative").observe) for task in STUDY.tasks.values()}
    assert quantitative == {("q-learning", "start-and-parity"), ("ppo", None)}


def test_values_are_summed_without_a_veto_in_tasks_of_q_learning():
    spec = STUDY.reward(STUDY.tasks["sokoban"], "boolean").spec
    state = spec.start({"reach_goal": 0.0, "wall_penalty": 0.0})
    paid = []
    for wall, goal in [(0.0, 0.0), (1.0, 0.0), (0.0, 0.0), (0.0, 1.0)]:
        state, step = spec.step(state, {"reach_goal": goal, "wall_penalty": wall})
        paid.append(getattr(step, "reward", step))
    assert paid == [99.0, -1.0, -1.0, 99.0]  # with a veto the goal would pay nothing
    specs = {name: STUDY.reward(task, "boolean").spec for name, task in STUDY.tasks.items()}
    vetoes = {name for name, spec in specs.items() for pair in spec.pairs if pair.vetoes}
    assert vetoes == {"cart_pole", "bipedal_walker", "frozen_lake"}  # PPO's, and the penalty of a hole


def test_ppo_observes_the_number_of_steps_as_it_is():
    from rewardspec.lab.learning.env_batches import make_batch
    from rewardspec.lab.learning.monitored_batch import MonitoredBatch

    task = STUDY.tasks["acrobot"].replace(max_episode_steps=3, id=None)
    reward = STUDY.reward(task, "boolean")
    envs = MonitoredBatch(task, make_batch(task, [0, 1]), 1, reward.spec, reward.observe)
    plain = MonitoredBatch(task, make_batch(task, [0, 1]), 1, reward.spec, "registers")
    assert envs.observation_size == plain.observation_size + 1
    counts = [envs.reset()[:, -1].tolist()]
    envs.keeps_last = True
    for _ in range(4):
        obs, *_ = envs.step(np.zeros(2, dtype=np.int64))
        counts.append(obs[:, -1].tolist())
        if envs.last is not None:
            assert envs.last[:, -1].tolist() == [3.0, 3.0]
    assert counts == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]


def test_a_policy_that_observes_the_number_of_steps_plays():
    from rewardspec.lab.learning.playing import play

    task = STUDY.tasks["acrobot"]
    reward = STUDY.reward(task, "boolean")
    config = PPO(total_steps=512, rollout_steps=128, envs=4)
    policy = train(task, reward.spec, config=config, seeds=[0], observe=reward.observe).policy
    episode = play(policy)
    assert len(episode.actions) == len(episode.rewards) > 1


def test_convergence_of_ppo_is_a_change_of_at_most_a_tenth():
    rule = STUDY.convergence(STUDY.tasks["acrobot"])
    assert (rule.span, rule.most_change, rule.counts_all) == (100, 0.1, True)
