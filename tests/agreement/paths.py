"""Every way to run a spec, compared with the definition: `PATHS` has a function for each.

A function takes a case, raises an AssertionError that names the spec and the step where something differs, and returns
how many rewards it has compared. Values are equal to the last bit; rewards are sums of products, which the definition
adds up in another order, so that they may differ by rounding.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.buffers import ReplayBuffer

import rewardspec as rs
from rewardspec.episodes.counterfactual import replay, rows_of
from rewardspec.episodes.engine import BatchEngine, Transition
from rewardspec.episodes.relabeling import relabel_episodes
from rewardspec.export.c_code import to_c
from rewardspec.export.js_code import js_object
from rewardspec.export.sources import source_of_spec
from rewardspec.lab.learning.env_batches import LoopedBatch
from rewardspec.lab.learning.monitored_batch import MonitoredBatch
from rewardspec.lab.tasks.task import Task
from rewardspec.sb3 import CounterfactualReplayBuffer
from tests.agreement.playback import OnDevice, Playback, ended_episodes, info_of, lanes
from tests.export.agreement import FLAGS
from tests.jax.worlds import playback, played_action
from tests.spec_cases import STEPS, Case
from tests.spec_definition import Paid, judged_by_definition, paid_by_definition

ROUNDING = 1e-9
ROUNDING_32 = 2e-5  # in single precision, of sums of some products


def same(case: Case, what: str, found: Any, expected: Any, rounding: float = 0.0) -> None:
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    close = np.abs(found - expected) <= rounding * np.maximum(1.0, np.abs(expected))
    if not close.all():
        where = tuple(int(k) for k in np.argwhere(~close)[0])
        raise AssertionError(f"{what} at {where}: {found[where]}, not {expected[where]}, of {case.spec}")


def _step_matches(case: Case, paid: Paid, t: int, e: int, reward: float, info: dict[str, Any]) -> None:
    """What a wrapper's step gave, beside the definition's word on step t, from 0, of an episode."""
    same(case, f"reward of step {t + 1}", reward, paid.rewards[t, e], ROUNDING)
    _info_matches(case, paid, t + 1, e, info)
    assert info["base_reward"] == case.base_rewards[t, e]


def _info_matches(case: Case, paid: Paid, position: int, e: int, info: dict[str, Any]) -> None:
    same(case, f"values of step {position}", list(info["formula_values"].values()), paid.values[:, position, e])
    assert info["violated"] == paid.violated[position, e], (case.spec, position)
    assert info["cost"] == paid.cost[position, e], (case.spec, position)


# One episode.


def scalar(case: Case) -> int:
    """`Spec.start` and `Spec.step` on numbers."""
    spec, paid, count = case.spec, case.paid, 0
    for e in range(len(case.lengths)):
        state = spec.start({name: float(column[0, e]) for name, column in case.labels.items()})
        for t in range(-1, case.steps_of(e)):
            if t >= 0:
                labels = {name: float(column[t + 1, e]) for name, column in case.labels.items()}
                ends = bool(case.terminated[t, e]), bool(case.truncated[t, e])
                state, reward = spec.step(state, labels, float(case.base_rewards[t, e]), *ends)
                same(case, f"reward of step {t + 1}", reward, paid.rewards[t, e], ROUNDING)
                count += 1
            same(case, f"values of step {t + 1}", spec.values(state), paid.values[:, t + 1, e])
            assert spec.penalty_in_force(state) == paid.penalty[t + 1, e], (case.spec, t + 1)
    return count


def wrapper(case: Case, **options: Any) -> int:
    """`MonitorReward` around one environment."""
    ending = options.get("terminate_on_violation", False)
    paid, count = case.paid_ending if ending else case.paid, 0
    play = Playback(case, range(len(case.lengths)))
    env = rs.wrappers.MonitorReward(play, case.spec, **options)
    for e in range(len(case.lengths)):
        _, info = env.reset()
        _info_matches(case, paid, 0, e, info)
        for t in range(case.steps_of(e, ending)):
            _, reward, terminated, truncated, info = env.step(play.next_action())
            _step_matches(case, paid, t, e, reward, info)
            assert terminated == paid.terminated[t, e], (case.spec, t)
            assert truncated == case.truncated[t, e]
            count += 1
        if options.get("record"):
            rewards = [row.reward for row in env.explain()]
            same(case, "explained rewards", rewards[1:], paid.rewards[: len(rewards) - 1, e], ROUNDING)
    return count


def wrapper_that_ends(case: Case) -> int:
    """The same with `terminate_on_violation`."""
    return wrapper(case, terminate_on_violation=True)


def wrapper_that_records(case: Case) -> int:
    """The same with `record` and `terminate_on_violation`, each episode explained."""
    return wrapper(case, terminate_on_violation=True, record=True)


def multi_task(case: Case) -> int:
    """`MultiTask` with `terminate_on_violation`, in turn with another task."""
    paid, count = case.paid_ending, 0
    episodes = len(case.lengths)
    play = Playback(case, [k % episodes for e in range(episodes) for k in (e, e + 1)])  # the second for the other task
    other = rs.Spec([("F a", 1), ("F b", 1), ("F c", 1)], atoms=case.spec.atom_functions, semantics=case.spec.semantics)
    env = rs.wrappers.MultiTask(play, [case.spec, other], terminate_on_violation=True)
    for e in range(episodes):
        _, info = env.reset()
        assert (info["task"], play.episode) == (0, e)
        _info_matches(case, paid, 0, e, info)
        for t in range(case.steps_of(e, ending=True)):
            _, reward, terminated, _, info = env.step(play.next_action())
            _step_matches(case, paid, t, e, reward, info)
            assert terminated == paid.terminated[t, e], (case.spec, t)
            count += 1
        assert env.reset()[1]["task"] == 1
        env.step(play.next_action())
    return count


def explanation(case: Case) -> int:
    """`Spec.explain` of labels."""
    count = 0
    for e in range(len(case.lengths)):
        steps = case.steps_of(e)
        episode = {name: column[: steps + 1, e] for name, column in case.labels.items()}
        ends = {"terminations": case.terminated[:steps, e], "truncations": case.truncated[:steps, e]}
        found = case.spec.explain({**episode, "rewards": case.base_rewards[:steps, e], **ends})
        same(case, "explained rewards", [row.reward for row in found][1:], case.paid.rewards[:steps, e], ROUNDING)
        for position, row in enumerate(found):
            same(case, "explained values", row.values, case.paid.values[:, position, e])
            assert (row.vetoed_by is not None) == case.paid.violated[position, e], (case.spec, position)
        count += steps
    return count


# Batches.


def arrays(case: Case, array: Callable[[Any], Any], rounding: float, count: int = 16, steps: int = 20) -> int:
    """`Spec.start`, `Spec.step` and `Spec.reset` on arrays of any library, with resets of single elements."""
    spec, plan = case.spec, lanes(case, count, steps)
    labels, following = plan.labels(case), plan.first_labels(case, plan.following)
    first = {k: array(v) for k, v in plan.first_labels(case, plan.first).items()}
    state = spec.start(first, batch=count)
    assert type(spec.penalty_in_force(state)) is type(array(np.zeros(1)))
    rewards, values = [], []
    for t in range(steps):
        where = plan.step[t] - 1, plan.episode[t]
        given = (array(x[where]) for x in (case.base_rewards, case.terminated, case.truncated))
        state, reward = spec.step(state, {k: array(v[t]) for k, v in labels.items()}, *given)
        rewards.append(np.asarray(reward))
        values.append(spec_values(state, spec))
        state = spec.reset(state, {k: array(v[t]) for k, v in following.items()}, array(plan.ends[t]))
    _lanes_match(case, plan, np.array(rewards), np.array(values), rounding)
    return count * steps


def spec_values(state: Any, spec: Any) -> Any:
    """The values and the penalty in force of a state, in NumPy."""
    return np.array([np.asarray(x) for x in (*spec.values(state), spec.penalty_in_force(state))])


def _lanes_match(case: Case, plan: Any, rewards: Any, told: Any, rounding: float) -> None:
    same(case, "reward", rewards, case.paid.rewards[plan.step - 1, plan.episode], rounding)
    for k, column in enumerate(case.paid.values):
        same(case, f"value of pair {k}", told[:, k], column[plan.step, plan.episode], rounding)
    penalty = case.paid.penalty[plan.step, plan.episode]
    same(case, "violation", np.isfinite(told[:, -1]), np.isfinite(penalty))
    same(case, "penalty", np.where(np.isfinite(penalty), told[:, -1], 0), np.where(np.isfinite(penalty), penalty, 0))


def numpy(case: Case) -> int:
    """NumPy, in double precision."""
    return arrays(case, np.asarray, ROUNDING)


def torch(case: Case) -> int:
    """Torch, in double precision."""
    import torch as xp

    if not case.spec.atoms:  # nothing says that this is a batch of torch
        return 0
    return arrays(case, xp.as_tensor, ROUNDING)


def jax(case: Case, count: int = 32, steps: int = 24) -> int:
    """JAX, in single precision: one compiled function with a scan, and resets of single elements inside."""
    import jax as library
    import jax.numpy as jnp

    if not case.spec.atoms:
        return 0
    spec, plan = case.spec, lanes(case, count, steps)
    where = plan.step - 1, plan.episode
    rows = (
        plan.labels(case),
        *(x[where] for x in (case.base_rewards, case.terminated, case.truncated)),
        plan.first_labels(case, plan.following),
        plan.ends,
    )

    @library.jit
    def run(first: Any, rows: Any) -> Any:
        def body(state: Any, row: Any) -> Any:
            labels, base, terminated, truncated, following, ends = row
            state, reward = spec.step(state, labels, base, terminated, truncated)
            told = jnp.stack([*spec.values(state), spec.penalty_in_force(state)])
            return spec.reset(state, following, ends), (reward, told)

        state, found = library.lax.scan(body, spec.start(first), rows)
        return spec.invalid_labels(state), found

    as_floats = library.tree.map(lambda x: jnp.asarray(x, None if x.dtype == bool else jnp.float32), rows)
    first = {k: jnp.asarray(v, jnp.float32) for k, v in plan.first_labels(case, plan.first).items()}
    invalid, (rewards, told) = run(first, as_floats)
    assert not any(np.asarray(x).any() for x in invalid.values())
    _lanes_match(case, plan, np.asarray(rewards), np.asarray(told), ROUNDING_32)
    return count * steps


def jax_environments(case: Case, count: int = 32, steps: int = 48) -> int:
    """`rewardspec.jax.SpecReward`, in single precision, in a scan: resets, and violations that end episodes."""
    import jax as library

    env = playback(case)
    if env is None:
        return 0
    # There is no `info` at a reset but the environment's state.
    atoms = dict(case.spec.atom_functions or {})
    for name in info_of(case.labels):
        atoms[name] = lambda obs, action, next_obs, info, name=name: info["state"].info[name]
    compared = 0
    for ending, paid in ((False, case.paid), (True, case.paid_ending)):
        spec = case.spec.replace(atoms=atoms)
        envs = rs.jax.SpecReward(env, spec, count, terminate_on_violation=ending)

        def body(state: Any, key: Any, envs: Any = envs) -> Any:
            new, _, *found = envs.step(key, state, played_action(case, state.env))
            return new, (state.env, *found)

        @library.jit
        def run(key: Any, envs: Any = envs, body: Any = body) -> Any:
            return library.lax.scan(body, envs.reset(key)[0], library.random.split(key, steps))

        state, found = run(library.random.key(len(str(case.spec))))
        played, rewards, terminated, truncated, info = library.tree.map(np.asarray, found)
        where, after = (played.at, played.episode), (played.at + 1, played.episode)
        same(case, "reward", rewards, paid.rewards[where], ROUNDING_32)
        same(case, "terminated", terminated, paid.terminated[where])
        same(case, "truncated", truncated, case.truncated[where] & ~paid.terminated[where])
        same(case, "violated", info["violated"], paid.violated[after])
        same(case, "cost", info["cost"], paid.cost[after])
        for name, column in zip(spec.names, paid.values, strict=True):
            same(case, "value", info["formula_values"][name], column[after], ROUNDING_32)
        envs.check_labels(state)
        compared += rewards.size
    return compared


def _transitions(case: Case, episode: Any, step: Any, array: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """Observations, actions and infos of a batch after some steps of some episodes."""
    labels = {name: column[step, episode] for name, column in case.labels.items()}
    info = {name: array(values) for name, values in info_of(labels).items()}
    return array(np.stack([labels["a"], labels["c"]], axis=-1)), array(labels["c"][:, None]), info


def engine(case: Case, array: Callable[[Any], Any], begin_later: bool, count: int = 16, steps: int = 20) -> int:
    """`BatchEngine` on observations: resets within a step (`restart`), or with the step after the end (`begun`)."""
    plan = lanes(case, count, steps)
    engine = BatchEngine(case.spec, count)
    in_numpy = isinstance(array(np.zeros(1)), np.ndarray)
    obs, _, info = _transitions(case, plan.first, 0, array)
    state, _ = engine.start(obs, info)
    rewards, told, newly = [], [], []
    for t in range(steps):
        before, _, _ = _transitions(case, plan.episode[t], plan.step[t] - 1, array)
        after, action, info = _transitions(case, plan.episode[t], plan.step[t], array)
        where = plan.step[t] - 1, plan.episode[t]
        ends = (array(x[where]) for x in (case.base_rewards, case.terminated, case.truncated))
        state, step = engine.advance(state, Transition(before, action, after, info, *ends))
        rewards.append(np.asarray(step.reward))
        newly.append(np.asarray(step.newly_violated))
        told.append(spec_values(state, case.spec))
        same(case, "engine's values", [np.asarray(value) for value in step.values], told[-1][:-1])
        ended = plan.ends[t]
        reset = np.flatnonzero(ended) if in_numpy else array(ended)
        first, _, info = _transitions(case, plan.following[t], 0, array)
        if not begin_later:
            state, _ = engine.restart(state, first, reset, info)
        elif ended.any():
            # The other lanes are stepped too, to be thrown away.
            nothing = Transition(after, action, first, info, array(np.zeros(count)))
            begun, step = engine.advance(state, nothing, reset)
            assert not np.asarray(step.reward)[ended].any()
            violated = np.asarray(case.spec.violated(begun))[ended]
            same(case, "violation of a first state", np.asarray(step.newly_violated)[ended], violated)
            kept = dict(step.labels)
            state = case.spec.reset(state, kept, array(ended))
            same(case, "first values", *(spec_values(s, case.spec)[:-1, ended] for s in (begun, state)))
            levels = [np.array([np.asarray(x)[ended] for x in case.spec.levels(s)]) for s in (begun, state)]
            same(case, "first levels", *levels)
    _lanes_match(case, plan, np.array(rewards), np.array(told), ROUNDING)
    same(case, "cost", newly, case.paid.cost[plan.step, plan.episode])
    return count * steps


def engine_numpy(case: Case) -> int:
    """`BatchEngine` in NumPy, with both ways to begin episodes."""
    return sum(engine(case, np.asarray, later) for later in (False, True))


def engine_torch(case: Case) -> int:
    """The same in torch."""
    import torch as xp

    if not case.spec.atoms:
        return 0
    return sum(engine(case, xp.as_tensor, later) for later in (False, True))


def _vector(case: Case, mode: AutoresetMode, array: Callable[[Any], Any] | None = None) -> int:
    """The vector wrapper; with `array`, around environments whose arrays are those of another library."""
    episodes = np.arange(len(case.lengths)) if mode is AutoresetMode.DISABLED else ended_episodes(case)
    copies, count = min(4, len(episodes)), 0
    if not copies:
        return 0
    plays = [Playback(case, episodes[k::copies]) for k in range(copies)]
    played = SyncVectorEnv([lambda p=p: p for p in plays], autoreset_mode=mode)
    envs = rs.wrappers.vector.MonitorReward(played if array is None else OnDevice(played, array), case.spec)
    _, infos = envs.reset()
    for k, play in enumerate(plays):
        _info_matches(case, case.paid, 0, play.episode, _row(infos, k))
    ended = np.zeros(copies, dtype=bool)
    for _ in range(4 * (len(case.base_rewards) + 1)):
        before = [(play.episode, play.at) for play in plays]
        actions = np.array([play.next_action() for play in plays])
        _, rewards, terminated, truncated, infos = envs.step(actions if array is None else array(actions))
        if array is not None:
            assert type(rewards) is type(terminated) is type(infos["cost"]) is type(array(actions))
        terminated, truncated = np.asarray(terminated), np.asarray(truncated)
        for k, (e, at) in enumerate(before):
            if ended[k]:  # this step has reset the environment
                assert rewards[k] == 0.0
                _info_matches(case, case.paid, 0, plays[k].episode, _row(infos, k))
                continue
            now = terminated[k] or truncated[k]
            final = mode is AutoresetMode.SAME_STEP and now
            _step_matches(case, case.paid, at, e, rewards[k], _row(infos["final_info"] if final else infos, k))
            if final:
                _info_matches(case, case.paid, 0, plays[k].episode, _row(infos, k))
            count += 1
        ended = np.zeros(copies, dtype=bool)
        if mode is AutoresetMode.NEXT_STEP:
            ended = terminated | truncated
        elif mode is AutoresetMode.DISABLED:
            mask = np.array([play.at == case.lengths[play.episode] for play in plays])
            if mask.any():
                _, infos = envs.reset(options={"reset_mask": mask})
                for k in np.flatnonzero(mask):
                    _info_matches(case, case.paid, 0, plays[k].episode, _row(infos, k))
    return count


def _row(infos: dict[str, Any], k: int) -> dict[str, Any]:
    values = {name: column[k] for name, column in infos["formula_values"].items() if not name.startswith("_")}
    return {
        "formula_values": values,
        **{key: infos[key][k] for key in ("violated", "cost", "base_reward") if key in infos},
    }


def vector_next_step(case: Case) -> int:
    """The vector wrapper where the step after an end resets."""
    return _vector(case, AutoresetMode.NEXT_STEP)


def vector_same_step(case: Case) -> int:
    """The vector wrapper where the step that ends an episode resets too."""
    return _vector(case, AutoresetMode.SAME_STEP)


def vector_disabled(case: Case) -> int:
    """The vector wrapper where the caller resets some environments."""
    return _vector(case, AutoresetMode.DISABLED)


def vector_torch(case: Case) -> int:
    """The vector wrapper around environments whose arrays are torch's, in every autoreset mode."""
    import torch as xp

    return sum(_vector(case, mode, xp.as_tensor) for mode in AutoresetMode)


def vector_jax(case: Case) -> int:
    """The same with arrays of JAX, in double precision."""
    import jax as library

    with library.enable_x64():
        return sum(_vector(case, mode, library.numpy.asarray) for mode in AutoresetMode)


def training_batch(case: Case) -> int:
    """The batch of environments that our PPO plays."""
    episodes = ended_episodes(case)
    copies, count = min(4, len(episodes)), 0
    if not copies:
        return 0
    plays = [Playback(case, episodes[k::copies]) for k in range(copies)]
    waiting = iter(plays)
    task = Task(name="playback", env=lambda **options: next(waiting), max_episode_steps=10**6, continuous=True)
    batch = MonitoredBatch(task, LoopedBatch(task, range(copies)), 1, case.spec, None)
    batch.reset()
    for _ in range(2 * len(case.base_rewards)):
        before = [(play.at, play.episode) for play in plays]
        _, rewards, _, _ = batch.step(np.array([play.next_action() for play in plays]))
        same(case, "reward", rewards, [case.paid.rewards[where] for where in before], ROUNDING)
        count += copies
    return count


# Recorded episodes.


def recorded(case: Case) -> int:
    """`relabel` of recorded episodes."""
    spec, episodes = case.spec, range(len(case.lengths))
    steps = [case.steps_of(e) for e in episodes]
    obs = [np.stack([case.labels["a"][: n + 1, e], case.labels["c"][: n + 1, e]], 1) for e, n in enumerate(steps)]
    found = relabel_episodes(
        spec,
        [
            {
                "observations": obs[e],
                "actions": case.labels["c"][1 : n + 1, e, None],
                "rewards": case.base_rewards[:n, e],
                "terminations": case.terminated[:n, e],
                "truncations": case.truncated[:n, e],
                "infos": info_of({name: column[: n + 1, e] for name, column in case.labels.items()}),
            }
            for e, n in enumerate(steps)
        ],
    )
    for e, rewards in enumerate(found.episodes):
        same(case, f"rewards of episode {e}", rewards, case.paid.rewards[: steps[e], e], ROUNDING)
    values = np.concatenate([case.paid.values[:, 1 : n + 1, e].T for e, n in enumerate(steps)])
    same(case, "values", found.values, values)
    same(
        case,
        "violated",
        found.violated,
        np.concatenate([case.paid.violated[1 : n + 1, e] for e, n in enumerate(steps)]),
    )
    return sum(steps)


def counterfactual(case: Case) -> int:
    """`replay` of one step of every episode from the states that some episodes are in at that time.

    The definition's word on such a step is that on the spliced episode: the labels of one episode up to the step, and
    then that of another.
    """
    spec, states, t = case.spec, 5, STEPS // 2
    count = len(case.lengths)
    batch = spec.start({name: column[0, :states] for name, column in case.labels.items()}, batch=states)
    for s in range(1, t + 1):
        batch, _ = spec.step(batch, {name: column[s, :states] for name, column in case.labels.items()})
    letters = {name: column[t + 1] for name, column in case.labels.items()}
    base = case.base_rewards[t]
    ends = case.terminated.any(axis=0), case.truncated.any(axis=0)
    found = replay(spec, rows_of(spec, batch), letters, base, *ends)
    spliced = {
        name: np.concatenate([np.tile(column[: t + 1, :states], count), np.repeat(column[t + 1], states)[None]])
        for name, column in case.labels.items()
    }

    def at_the_end(column: Any) -> Any:
        return np.concatenate([np.zeros((t, count * states), column.dtype), np.repeat(column, states)[None]])

    judged = judged_by_definition(spec, spliced)
    paid = paid_by_definition(spec, judged, *map(at_the_end, (base, *ends)))
    same(case, "counterfactual rewards", found.rewards.reshape(-1), paid.rewards[t], ROUNDING)
    same(case, "counterfactual violations", found.violated.reshape(-1), paid.violated[t + 1])
    return count * states


def sb3_buffer(case: Case) -> int:
    """`CounterfactualReplayBuffer`, with `terminate_on_violation` and without: the rows beside the real ones."""
    return sum(_sb3_buffer(case, ending) for ending in (False, True))


def _sb3_buffer(case: Case, ending: bool) -> int:
    """What each state of the pool stands for is kept as labels that lead there, for the definition to read."""
    spec = case.spec
    play = Playback(case, range(len(case.lengths)))
    env = rs.wrappers.MonitorReward(play, spec, observe="registers", terminate_on_violation=ending)
    if env.extension is None:  # the monitor has no states to tell apart
        return 0
    stored: list[tuple[float, bool]] = []
    pool: list[list[tuple[float, ...]]] = []  # for each state of the buffer's pool, letters that lead there
    rows: list[tuple[list[tuple[float, ...]], tuple[float, bool, bool], float, bool]] = []

    buffer = CounterfactualReplayBuffer(
        1, env.observation_space, env.action_space, "cpu", 1, spec=spec, terminate_on_violation=ending
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReplayBuffer, "add", lambda self, o, n, a, reward, done, i: stored.append((reward[0], done[0])))
        for e in range(6):
            obs, _ = env.reset()
            steps = case.steps_of(e, ending)
            letters = [tuple(float(column[k, e]) for column in case.labels.values()) for k in range(steps + 1)]
            for t in range(steps):
                stored.clear()
                action = play.next_action()
                after, reward, terminated, truncated, info = env.step(action)
                info["TimeLimit.truncated"] = truncated and not terminated
                done = np.array([terminated or truncated or t + 1 == steps])
                known = len(buffer.pool.rows)
                buffer.add(obs[None], after[None], action[None] / 8.0, np.array([reward]), done, [info])
                if t == 0 and len(buffer.pool.rows) > known:
                    _learn(case, buffer, pool, [letters[:1]])
                numbers = buffer._tasks[0].numbers(buffer.pool.rows[: len(pool)])
                others = [k for k in range(len(pool)) if not np.array_equal(numbers[k], obs[2:])]
                own = bool(case.terminated[t, e]), bool(case.truncated[t, e])
                if not own[0] and not own[1] and done[0] and not ending:
                    own = True, False  # what SB3 makes of a `done` that is no time limit
                for k, (paid, ends) in zip(others, stored[1:], strict=True):
                    rows.append(([*pool[k], letters[t + 1]], (case.base_rewards[t, e], *own), paid, ends))
                _learn(case, buffer, pool, [[*before, letters[t + 1]] for before in pool])
                obs = after
    for length in {len(row[0]) for row in rows}:
        chosen = [row for row in rows if len(row[0]) == length]
        table = np.array([row[0] for row in chosen])  # episodes, steps + 1, atoms
        labels = {name: table[:, :, k].T for k, name in enumerate(case.labels)}
        last = [np.zeros((length - 1, len(chosen)), kind) for kind in (float, bool, bool)]
        for column, values in zip(last, zip(*(row[1] for row in chosen), strict=True), strict=True):
            column[-1] = values
        judged = judged_by_definition(spec, labels)
        paid = paid_by_definition(spec, judged, *last, terminate_on_violation=ending)
        same(case, "reward of a counterfactual row", [row[2] for row in chosen], paid.rewards[-1], ROUNDING)
        same(case, "end of a counterfactual row", [row[3] for row in chosen], paid.terminated[-1] | last[2][-1])
    return len(rows)


def _learn(case: Case, buffer: Any, pool: list[Any], candidates: list[Any]) -> None:
    """Find letters that lead to each new state of the pool."""
    known, spec = {}, case.spec
    for letters in candidates:
        state = spec.start({name: np.array([letters[0][k]]) for k, name in enumerate(case.labels)}, batch=1)
        for letter in letters[1:]:
            state, _ = spec.step(state, {name: np.array([letter[k]]) for k, name in enumerate(case.labels)})
        known.setdefault(rows_of(spec, state)[0].tobytes(), letters)
    while len(pool) < len(buffer.pool.rows) and buffer.pool.rows[len(pool)].tobytes() in known:
        pool.append(known[buffer.pool.rows[len(pool)].tobytes()])


# Exported code.


def exported_c(cases: list[Case]) -> int:
    """C, compiled by gcc; takes all cases at once."""
    parts = ["#include <math.h>"]
    for number, case in enumerate(cases):
        source = source_of_spec(case.spec, f"m{number}")
        m, atoms = source.name, max(1, len(source.program.atoms))
        values = " ".join(f"o[{2 + k}] = s.values[{k}];" for k in range(len(case.spec.pairs)))
        width = 2 + len(case.spec.pairs)
        parts += [
            to_c(source),
            f"""
void run_{m}(int n, const double *labels, const double *ends, double *out);
void run_{m}(int n, const double *labels, const double *ends, double *out)
{{
    {m}_state s;
    int k;
    {m}_start(&s, labels);
    for (k = 1; k <= n; k++) {{
        double *o = out + (k - 1) * {width};
        const double *e = ends + 3 * (k - 1);
        o[0] = {m}_step(&s, labels + k * {atoms}, e[0], e[1] > 0.0, e[2] > 0.0);
        o[1] = {m}_violated(&s);
        {values}
    }}
}}
""",
        ]
    with tempfile.TemporaryDirectory() as folder:
        path, built = Path(folder, "specs.c"), Path(folder, "specs.so")
        path.write_text("\n".join(parts), encoding="utf-8")
        flags = [flag for flag in FLAGS if flag != "-O2"]  # which would take longer to compile than to run
        command = ["gcc", *flags, "-shared", "-fPIC", str(path), "-o", str(built), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        library = ctypes.CDLL(str(built))
        count = 0
        for number, case in enumerate(cases):
            for e in range(len(case.lengths)):
                steps = case.steps_of(e)
                labels = np.array([case.labels[name][: steps + 1, e] for name in case.spec.atoms] or [[0.0]])
                labels = np.ascontiguousarray(labels.T)
                columns = (case.base_rewards, case.terminated, case.truncated)
                ends = np.ascontiguousarray(np.array([x[:steps, e] for x in columns], dtype=float).T)
                out = np.zeros((steps, 2 + len(case.spec.pairs)))
                pointers = (x.ctypes.data_as(ctypes.c_void_p) for x in (labels, ends, out))
                getattr(library, f"run_m{number}")(steps, *pointers)
                _exported_matches(case, e, out)
                count += steps
        return count


def _exported_matches(case: Case, e: int, out: Any) -> None:
    steps = len(out)
    same(case, "reward", out[:, 0], case.paid.rewards[:steps, e], ROUNDING)
    same(case, "violation", out[:, 1], case.paid.violated[1 : steps + 1, e])
    same(case, "values", out[:, 2:], case.paid.values[:, 1 : steps + 1, e].T)


_NODE = """
const { readFileSync, writeFileSync } = require("fs");
const data = JSON.parse(readFileSync(process.argv[2]));
const found = [];
machines.forEach((m, number) => data[number].forEach(({ letters, ends }) => {
  let s = m.start(letters[0]);
  ends.forEach(([baseReward, terminated, truncated], k) => {
    s = m.step(s, letters[k + 1], { baseReward, terminated: !!terminated, truncated: !!truncated });
    found.push(s.reward, m.violated(s) ? 1 : 0, ...s.values);
  });
}));
writeFileSync(process.argv[3], Buffer.from(Float64Array.from(found).buffer));
"""


def exported_js(cases: list[Case]) -> int:
    """JavaScript, run by node; takes all cases at once."""
    data = []
    for case in cases:
        episodes = []
        for e in range(len(case.lengths)):
            steps = case.steps_of(e)
            columns = (case.base_rewards, case.terminated, case.truncated)
            letters = [{name: float(case.labels[name][k, e]) for name in case.spec.atoms} for k in range(steps + 1)]
            episodes.append({"letters": letters, "ends": np.array([x[:steps, e] for x in columns], float).T.tolist()})
        data.append(episodes)
    with tempfile.TemporaryDirectory() as folder:
        script, traces, results = (Path(folder, name) for name in ("run.cjs", "traces.json", "results.bin"))
        objects = ",\n".join(js_object(source_of_spec(case.spec, f"m{k}")) for k, case in enumerate(cases))
        script.write_text(f"const machines = [{objects}];\n{_NODE}", encoding="utf-8")
        traces.write_text(json.dumps(data), encoding="utf-8")
        command = ["node", str(script), str(traces), str(results)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        numbers = np.fromfile(results)
    place = count = 0
    for case in cases:
        for e in range(len(case.lengths)):
            steps, width = case.steps_of(e), 2 + len(case.spec.pairs)
            _exported_matches(case, e, numbers[place : place + steps * width].reshape(steps, width))
            place += steps * width
            count += steps
    return count


def one_by_one(path: Callable[[Case], int]) -> Callable[[list[Case]], int]:
    """A path that takes one case at a time, as one that takes them all."""

    def all_of_them(cases: list[Case]) -> int:
        return sum(map(path, cases))

    all_of_them.__doc__ = path.__doc__
    return all_of_them


PATHS: dict[str, Callable[[list[Case]], int]] = {
    **{
        path.__name__: one_by_one(path)
        for path in (
            *(scalar, wrapper, wrapper_that_ends, wrapper_that_records, multi_task, explanation),
            *(numpy, torch, jax, jax_environments, engine_numpy, engine_torch),
            *(vector_next_step, vector_same_step, vector_disabled, vector_torch, vector_jax),
            *(training_batch, recorded),
            *(counterfactual, sb3_buffer),
        )
    },
    "exported_c": exported_c,
    "exported_js": exported_js,
}
