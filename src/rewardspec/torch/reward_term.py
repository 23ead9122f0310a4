"""A spec as a term of the reward managers of Isaac Lab and mjlab.

These managers call each term once a step, for all environments, after the terminations are known and before any
environment is reset: `func(env, **params) -> tensor of shape (num_envs,)`. They multiply the result by `weight * dt`,
and skip a term whose weight is 0. A term that is a class is made with `(cfg, env)` and told of resets by
`reset(env_ids)`. At that moment positions of bodies and readings of sensors are still those of the ended episode, so
that a term cannot read the first state of the new one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import torch

from rewardspec.episodes.batched_spaces import chosen
from rewardspec.episodes.features import Features
from rewardspec.episodes.observation_copies import copied
from rewardspec.errors import SpecError
from rewardspec.machines.array_code import State
from rewardspec.spec import Spec
from rewardspec.spec.payments import PAYMENTS
from rewardspec.types import Action, Observation
from rewardspec.wrappers.monitor_reward import readable

EnvIds: TypeAlias = "slice | Sequence[int] | torch.Tensor | None"
Env: TypeAlias = Any
"""An environment of Isaac Lab or mjlab, or anything with their `num_envs`, `device` and `step_dt`."""


class TermCfg(Protocol):
    """The configuration of a term: the `RewardTermCfg` of Isaac Lab or mjlab."""

    params: dict[str, Any]


class SpecTerm:
    """A reward term that pays the reward of a spec.

    Use the class as the `func` of a `RewardTermCfg`; the parameters of `__call__` after `env` are its `params`. The
    state of the spec stays on the device of the labels.

    The trace of an episode has one letter for each step: the first is read after the first step, because a term cannot
    read the state of a reset. What `delta` and `potential` pay is the change of the level since then, from 0.

    Isaac Lab asks for its own base class:

        class SpecTerm(rewardspec.torch.SpecTerm, isaaclab.managers.ManagerTermBase): ...

    Args:
        cfg: Configuration of the term.
        env: The environment.

    Attributes:
        spec: The spec.

    Raises:
        SpecError: The spec has no functions for its atoms, mixes payments that are rates with others, or is about
            things that appear; and in a step, a payment needs to know where episodes end, and the environment has no
            `termination_manager`.

    Example:
        >>> from types import SimpleNamespace
        >>> spec = Spec([("F high", 1)], {"high": lambda obs, action, env: env.height.clip(0, 1)}, payment="delta")
        >>> env = SimpleNamespace(num_envs=2, device="cpu", step_dt=0.5, height=torch.tensor([0.25, 0.5]))
        >>> term = SpecTerm(SimpleNamespace(params={"spec": spec}), env)
        >>> term(env, spec) * 0.5  # as the manager does with a weight of 1
        tensor([0.2500, 0.5000])
        >>> env.height += 0.25
        >>> term.reset([0])
        >>> term(env, spec) * 0.5
        tensor([0.5000, 0.2500])
    """

    def __init__(self, cfg: TermCfg, env: Env) -> None:
        self.cfg = cfg
        self._env = env
        self.spec = spec_in(cfg.params)
        self._divides = _divides(self.spec, cfg.params.get("divide_by_dt"), env)
        self._state: State | None = None
        self._obs: Observation = None
        # Written in place: managers may call `step` in inference mode and `reset` outside of it.
        self._begun = torch.ones(env.num_envs, dtype=torch.bool, device=env.device)
        _ = self.state  # raises an error for a spec that cannot run in a batch

    def reset(self, env_ids: EnvIds = None) -> None:
        """Restart the spec in some environments.

        Args:
            env_ids: Indices of the environments, as a slice, a sequence or a tensor; or a mask of shape (num_envs,).
                None for all.
        """
        if env_ids is None:
            env_ids = slice(None)
        elif isinstance(env_ids, tuple):  # torch takes a tuple for one index along each axis
            env_ids = list(env_ids)
        self._begun[env_ids] = True

    def __call__(
        self,
        env: Env,
        spec: Spec | str | os.PathLike[str],
        observation: Callable[[Env], Observation] | None = None,
        divide_by_dt: bool | None = None,
    ) -> torch.Tensor:
        """Return what the step pays.

        Args:
            env: The environment.
            spec: The spec, or the path of its TOML file. Its atoms are functions of `(obs, action, next_obs)` that
                return tensors of shape (num_envs,): `next_obs` is what `observation` returns.
            observation: Function of the environment that returns what atoms read: a tensor whose first axis is the
                environments, or a dict of them. `obs` is what it returned in the step before. None for the environment
                itself, both as `obs` and as `next_obs`.
            divide_by_dt: Whether to divide the reward by the duration of a step, which the manager multiplies by. By
                default it is divided if the payments are `delta`, `potential` or `final`, whose sum over an episode
                should not depend on the duration, and not if they are `value`, which is a rate.

        Returns:
            Rewards of shape (num_envs,), to be multiplied by the term's weight and the step's duration.
        """
        spec = self.spec
        next_obs = env if observation is None else observation(env)
        obs = next_obs if observation is None or self._obs is None else chosen(self._begun, next_obs, self._obs)
        labels = spec.labels(obs, _action(env), next_obs, batch=env.num_envs)
        if observation is not None and spec.batch_reader.of_transitions:
            self._obs = copied(next_obs)  # simulators write the next observations over these
        if self._state is None:
            tensors = (label for label in labels.values() if isinstance(label, torch.Tensor))
            like = next(tensors, self._begun.float())
            state = spec.initial_state(env.num_envs, torch, like.dtype, like.device, check_labels=True)
        else:
            state = spec.machine.begin(self._state, self._begun)
        reward: torch.Tensor
        self._state, reward = spec.step(state, labels, 0.0, *self._ends(env))
        self._begun.zero_()
        return reward / env.step_dt if self._divides else reward

    @property
    def state(self) -> State:
        """State of the spec in all environments; where an episode has begun since the last step, the initial one.

        Give it to the functions of the spec: `spec.values(term.state)`.
        """
        if self._state is None:
            env = self._env
            first: State = self.spec.initial_state(env.num_envs, torch, torch.float32, env.device, check_labels=True)
            return first
        begun: State = self.spec.machine.begin(self._state, self._begun)
        return begun

    def _ends(self, env: Env) -> tuple[torch.Tensor | bool, torch.Tensor | bool]:
        """Return where episodes terminate and are truncated in this step."""
        manager = getattr(env, "termination_manager", None)
        if manager is not None:
            return manager.terminated, manager.time_outs
        needing = [payment for payment in _payments(self.spec) if PAYMENTS[payment].reads_ending]
        if needing:
            raise SpecError(
                f"`env` should have a `termination_manager` with `terminated` and `time_outs`, because the payment "
                f"{needing[0]!r} depends on where episodes end. Received a {type(env).__name__} without one."
            )
        return False, False

    def read(self, features: Features) -> torch.Tensor:
        """Return what agents can be shown of the state, of shape (num_envs, len(features.names)).

        `SpecObservation` calls this as an observation term.

        Args:
            features: The numbers to show, as `Features(term.spec, "registers")`.
        """
        if not features.names:
            return torch.zeros(self._env.num_envs, 0, device=self._env.device)
        numbers: torch.Tensor = features.read_batch(self.state)
        return numbers

    @property
    def values(self) -> dict[str, torch.Tensor]:
        """The value of each formula after the last step, by the pairs' names; empty before the first step."""
        if self._state is None:
            return {}
        return dict(zip(self.spec.names, self.spec.values(self._state), strict=True))

    @property
    def violated(self) -> torch.Tensor:
        """Whether a safety objective has been violated, of shape (num_envs,).

        False where an episode has begun since the last step.
        """
        if self._state is None:
            return torch.zeros_like(self._begun)
        violated: torch.Tensor = self.spec.violated(self._state)
        return violated & ~self._begun

    @property
    def invalid_labels(self) -> dict[str, torch.Tensor]:
        """Where each atom has given a label out of range or NaN so far, of shape (num_envs,)."""
        return {} if self._state is None else self.spec.invalid_labels(self._state)


def spec_in(params: Mapping[str, Any]) -> Spec:
    """The spec in the parameters of a term."""
    if "spec" not in params:
        raise SpecError(f"`params` should have a 'spec', or the path of its file. Received {sorted(params)}.")
    return readable(params["spec"])


def _divides(spec: Spec, asked: bool | None, env: Env) -> bool:
    if not getattr(getattr(env, "cfg", None), "scale_rewards_by_dt", True):  # an option of mjlab
        return False
    if asked is not None:
        return asked
    payments = _payments(spec)
    rates = {payment == "value" for payment in payments}
    if len(rates) > 1:
        raise SpecError(
            "The manager multiplies rewards by the step's duration, which is right for `value`, a rate, and not for "
            f"the other payments. Received a spec with the payments {', '.join(payments)}. Use two "
            "terms, or pass divide_by_dt=True to be paid what the spec pays for each step."
        )
    return False in rates


def _action(env: Env) -> Action:
    manager = getattr(env, "action_manager", None)
    return None if manager is None else manager.action


def _payments(spec: Spec) -> dict[str, None]:
    """The ways in which a spec may pay."""
    return dict.fromkeys([spec.payment, *spec.payments] if any(spec.penalties) else spec.payments)
