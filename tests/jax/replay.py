"""What a rollout of `SpecReward` paid, compared with the scalar monitor on the labels that it recorded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rewardspec.jax import SpecReward, State, sample_actions
from rewardspec.spec import Spec
from rewardspec.spec.atoms.functions import with_info


class Rollout(NamedTuple):
    """A rollout: arrays of shape (steps, envs), in NumPy, and the labels of the first observations."""

    first_labels: Any
    reward: Any
    terminated: Any
    truncated: Any
    info: Any


def rollout(envs: SpecReward, steps: int, seed: int = 0, chunks: int = 1) -> tuple[State, Rollout]:
    """Random actions in every environment, compiled once; `info` without observations."""

    def body(state: State, key: Any) -> Any:
        one, other = jax.random.split(key)
        state, _, *found, info = envs.step(one, state, sample_actions(envs.action_space, other, envs.num_envs or 1))
        kept = ("base_reward", "labels", "reset_labels", "formula_values", "violated", "cost", "episode")
        return state, (*found, {name: info[name] for name in kept})

    state, first = jax.jit(functools.partial(_reset, envs))(jax.random.key(seed))
    run = jax.jit(lambda state, keys: jax.lax.scan(body, state, keys))
    parts = []
    for chunk in range(chunks):
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), chunk + 1), steps // chunks)
        state, found = run(state, keys)
        parts.append(jax.tree.map(np.asarray, found))
    joined = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
    return state, Rollout(jax.tree.map(np.asarray, first), *joined)


def _reset(envs: SpecReward, key: Any) -> tuple[State, Any]:
    """Reset, and return the very labels that were read; another computation of them may round differently."""
    read: list[Any] = []
    method = envs._read
    vars(envs)["_read"] = lambda *given: read.append(method(*given)) or read[-1]
    state, _ = envs.reset(key)
    del vars(envs)["_read"]
    return state, read[0]


def computed_once(spec: Spec) -> Spec:
    """The spec with atoms whose labels XLA computes once.

    Otherwise it may compute a label in two kernels that round differently, so that the recorded label is not to the
    last bit the one that the monitor has read.
    """

    def barred(call: Callable[..., Any]) -> Callable[..., Any]:
        def label(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
            return jax.lax.optimization_barrier(jnp.asarray(call(obs, action, next_obs, info), jnp.float32))

        return label

    functions = spec.atom_functions or {}
    return spec.replace(atoms={name: barred(with_info(function)) for name, function in functions.items()})


class Compared(NamedTuple):
    """How much a comparison has covered, and how far rewards were apart."""

    steps: int
    episodes: int
    violations: int
    differing_values: int
    largest_gap: float


def compare(envs: SpecReward, found: Rollout) -> Compared:
    """Replay the recorded labels, as floats, through the scalar monitor.

    Values are compared to the last bit of single precision; gaps of rewards are relative to the larger of 1 and the
    reward.
    """
    spec = envs.spec
    assert spec is not None
    steps, count = found.reward.shape
    done = found.terminated | found.truncated
    values = np.stack([found.info["formula_values"][name] for name in spec.names])
    assert values.dtype == np.float32
    rewards, replayed = np.zeros((steps, count)), np.zeros(values.shape)
    violated = np.zeros((steps, count), dtype=bool)
    for e in range(count):
        state = spec.start({atom: float(found.first_labels[atom][e]) for atom in spec.atoms})
        columns = {atom: found.info["labels"][atom][:, e].astype(float).tolist() for atom in spec.atoms}
        for t in range(steps):
            labels = {atom: column[t] for atom, column in columns.items()}
            ends = bool(found.terminated[t, e]), bool(found.truncated[t, e])
            state, rewards[t, e] = spec.step(state, labels, float(found.info["base_reward"][t, e]), *ends)
            replayed[:, t, e], violated[t, e] = spec.values(state), spec.violated(state)
            if done[t, e]:
                state = spec.start({atom: float(found.info["reset_labels"][atom][t, e]) for atom in spec.atoms})
    differing = int((values != replayed.astype(np.float32)).sum() + (violated != found.info["violated"]).sum())
    gaps = np.abs(rewards - found.reward) / np.maximum(1.0, np.abs(rewards))
    cost = int(found.info["cost"].sum())
    return Compared(rewards.size, int(done.sum()), cost, differing, float(gaps.max()))
