"""Checked settings of the learners: `QLearning`, `PPO` and `SB3`. The type chooses the learner."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, TypeAlias

from rewardspec.errors import Error, did_you_mean
from rewardspec.types import JsonObject

Unit: TypeAlias = Literal["episodes", "steps"]
"""Unit of a training budget."""
LARGEST_EXACT = 2**24
"""Largest integer up to which 32-bit floats are exact, as the episode log of Q-learning requires.

The number of an outcome and the length of an episode must be exact. The step at which an episode ended may exceed this
limit in a long run: it is only used to look up the time, with a relative error below 1e-7.
"""

_OTHER_NAMES = {
    "alpha": "learning_rate",
    "anneal_lr": "anneal",
    "clip_coef": "clip",
    "clip_range": "clip",
    "ent_coef": "entropy_coefficient",
    "exploration_final_eps": "epsilon_min",
    "exploration_initial_eps": "epsilon",
    "gamma": "discount",
    "lr": "learning_rate",
    "max_episode_steps": "max_steps",
    "n_envs": "envs",
    "n_epochs": "epochs",
    "n_steps": "rollout_steps",
    "norm_adv": "normalize_advantages",
    "num_envs": "envs",
    "num_minibatches": "minibatches",
    "num_steps": "rollout_steps",
    "total_timesteps": "total_steps",
    "update_epochs": "epochs",
    "vf_coef": "value_coefficient",
}
"""Settings by their names in other libraries, such as Stable-Baselines3 and CleanRL."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class QLearning:
    """Settings of tabular Q-learning; the defaults are those of the paper's evaluation.

    Attributes:
        unit: Unit of the budget.
        episodes: Episodes of each run.
        steps: Steps of each run, as budget instead of `episodes`; an unfinished episode is not counted.
        max_steps: Steps after which an episode is truncated.
        learning_rate: Learning rate.
        discount: Discount factor.
        epsilon: Probability of a random action in the first episode.
        epsilon_decay: Factor on it after every episode.
        epsilon_min: Minimum of that probability.
        initial_value: Initial value of all table entries.
        ties: Tie-breaking between equally good actions: the `"first"` or a `"random"` one.
        starts: Whether initial states are `"drawn"`, or cycle `"in turn"`, for environments with one per task.
        bootstrap_truncated: Whether to bootstrap the value of truncated episodes.
        counterfactual: Whether each transition also updates all other states of the monitor with the same state of the
            environment (Toro Icarte et al., JAIR 2022).
    """

    unit: ClassVar[Unit] = "episodes"
    episodes: int = 2_000
    steps: int | None = None
    max_steps: int = 100
    learning_rate: float = 0.01
    discount: float = 0.9
    epsilon: float = 1.0
    epsilon_decay: float = 0.9985
    epsilon_min: float = 0.05
    initial_value: float = 0.0
    ties: Literal["first", "random"] = "first"
    starts: Literal["drawn", "in turn"] = "drawn"
    bootstrap_truncated: bool = True
    counterfactual: bool = False

    def __post_init__(self) -> None:
        _check_types(self)
        if not math.isfinite(_number(self, "initial_value")):
            raise Error(f"`initial_value` should be a finite number. Received {self.initial_value!r}.")
        if self.ties not in ("first", "random"):
            raise Error(f"`ties` should be 'first' or 'random'. Received {self.ties!r}.")
        if self.starts not in ("drawn", "in turn"):
            raise Error(f"`starts` should be 'drawn' or 'in turn'. Received {self.starts!r}.")
        if self.max_steps > LARGEST_EXACT:
            raise Error(f"`max_steps` should be at most {LARGEST_EXACT}. Received {self.max_steps!r}.")
        _check_shares(self, "learning_rate", "discount", "epsilon", "epsilon_decay", "epsilon_min")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PPO:
    """Settings of PPO. `PPO.discrete()` and `PPO.continuous()` are those of the paper's evaluation except truncation.

    Attributes:
        unit: Unit of the budget.
        total_steps: Steps of each run, in all its environments together.
        rollout_steps: Steps of each environment between two updates.
        envs: Environments of each run.
        learning_rate: Learning rate of Adam at the start.
        anneal: Whether the learning rate falls to 0 over the run.
        discount: Discount factor.
        gae_lambda: λ of the generalized advantage estimate.
        minibatches: Minibatches of each epoch.
        epochs: Passes over a rollout.
        normalize_advantages: Whether to normalize advantages in each minibatch.
        clip: Clipping range of the probability ratio and of the value.
        clip_value_loss: Whether the value is clipped as well.
        entropy_coefficient: Weight of the policy's entropy.
        value_coefficient: Weight of the value loss.
        max_grad_norm: Maximum norm of the gradient.
        normalize_observations: Whether observations are scaled by their running moments.
        normalize_rewards: Whether rewards are scaled by the deviation of the discounted return so far.
        bootstrap_truncated: Whether to bootstrap the value of truncated episodes; otherwise they count as terminated,
            as in CleanRL and in the paper.
        scale_actions: Whether outputs in [-1, 1] are mapped onto the bounds of the actions, where these are finite;
            otherwise outputs are the actions themselves. Both are clipped to the bounds. `rewardspec train` and
            `compare` switch it on for Box actions, except in the tasks of the paper.
    """

    unit: ClassVar[Unit] = "steps"
    total_steps: int = 500_000
    rollout_steps: int = 128
    envs: int = 4
    learning_rate: float = 2.5e-4
    anneal: bool = True
    discount: float = 0.99
    gae_lambda: float = 0.95
    minibatches: int = 4
    epochs: int = 4
    normalize_advantages: bool = True
    clip: float = 0.2
    clip_value_loss: bool = True
    entropy_coefficient: float = 0.01
    value_coefficient: float = 0.5
    max_grad_norm: float = 0.5
    normalize_observations: bool = False
    normalize_rewards: bool = False
    bootstrap_truncated: bool = True
    scale_actions: bool = False

    def __post_init__(self) -> None:
        _check_types(self)
        _check_shares(self, "discount", "gae_lambda")
        for name in ("learning_rate", "entropy_coefficient", "value_coefficient"):
            if not 0.0 <= _number(self, name) < math.inf:
                raise Error(f"`{name}` should be a finite number of at least 0. Received {getattr(self, name)!r}.")
        for name in ("clip", "max_grad_norm"):  # infinity switches the clipping off
            if not _number(self, name) > 0.0:
                raise Error(f"`{name}` should be a number above 0. Received {getattr(self, name)!r}.")
        size = self.rollout_steps * self.envs
        if size % self.minibatches or size // self.minibatches < 2:
            raise Error(
                f"A rollout of {size} steps cannot be divided into {self.minibatches} equal minibatches of at least 2."
            )
        if self.total_steps < size:
            raise Error(
                f"`total_steps` should be at least one rollout of {size} steps ({self.envs} envs × "
                f"{self.rollout_steps} rollout_steps). Received {self.total_steps!r}. Shorten it by a smaller "
                "`rollout_steps`; on the command line: --set rollout_steps=…"
            )

    @classmethod
    def discrete(cls, **changes: Any) -> PPO:
        """Return the paper's settings for discrete actions, with bootstrapped truncation and `changes`."""
        return cls(**changes)

    @classmethod
    def continuous(cls, **changes: Any) -> PPO:
        """Return the paper's settings for continuous actions, with bootstrapped truncation and `changes`."""
        settings: JsonObject = {
            "total_steps": 1_000_000,
            "rollout_steps": 2048,
            "envs": 1,
            "learning_rate": 3e-4,
            "minibatches": 32,
            "epochs": 10,
            "entropy_coefficient": 0.0,
            "normalize_observations": True,
            "normalize_rewards": True,
        }
        return cls(**(settings | changes))


@dataclasses.dataclass(frozen=True, kw_only=True)
class SB3:
    """Settings of an algorithm of Stable-Baselines3. Unset options keep SB3's defaults.

    Attributes:
        algorithm: The name of its class, such as `"PPO"` or `"SAC"`.
        total_steps: Steps of each run, in all its environments together.
        policy: Name of the policy class.
        counterfactual: Whether off-policy learners such as DQN and SAC also learn each transition as it would have been
            in other states of the monitor, or of the monitors of all tasks if the environment is a `MultiTask`; see
            `rewardspec.sb3.CounterfactualReplayBuffer`. Without effect on the environment's own reward otherwise.
        options: Further arguments of the algorithm's class, as JSON data.
    """

    unit: ClassVar[Unit] = "steps"
    algorithm: str
    total_steps: int = 100_000
    envs: int = 1
    policy: str = "MlpPolicy"
    counterfactual: bool = False
    options: JsonObject = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_types(self)

    @property
    def discount(self) -> float:
        """Discount factor."""
        return float(self.options.get("gamma", 0.99))


Config: TypeAlias = QLearning | PPO | SB3
"""Settings of a learner."""


def setting_hint(name: str, known: Iterable[str]) -> str:
    """A hint for a setting that is not known: what it is called here, the nearest one, or else all of them.

    Example:
        >>> setting_hint("lr", ["discount", "learning_rate"]), setting_hint("zzz", ["learning_rate", "discount"])
        (" Did you mean 'learning_rate'?", ' Its settings: discount, learning_rate.')
    """
    names = sorted(known)
    if _OTHER_NAMES.get(name) in names:
        return f" Did you mean {_OTHER_NAMES[name]!r}?"
    return did_you_mean(name, names) or f" Its settings: {', '.join(names)}."


def learner_words(learner: str) -> str:
    """Return the display name of a learner.

    Example:
        >>> learner_words("q-learning"), learner_words("sb3:SAC")
        ('Q-learning', 'SAC of Stable-Baselines3')
    """
    own = {"ppo": "PPO", "q-learning": "Q-learning"}
    return own[learner] if learner in own else f"{learner.removeprefix('sb3:')} of Stable-Baselines3"


def _check_types(settings: Config) -> None:
    """Raise an Error unless all integers are positive, and all flags bools."""
    for field in dataclasses.fields(settings):
        value: object = getattr(settings, field.name)
        if field.type == "bool" and not isinstance(value, bool):
            raise Error(f"`{field.name}` should be true or false. Received {value!r}.")
        if field.type == "int" or (field.type == "int | None" and value is not None):
            if type(value) is bool or not isinstance(value, numbers.Integral):
                raise Error(f"`{field.name}` should be a whole number. Received {value!r}. Give it as an int.")
            if int(value) < 1:
                raise Error(f"`{field.name}` should be at least 1. Received {value!r}.")


def _check_shares(settings: Config, *names: str) -> None:
    """Raise an Error unless these settings are numbers in [0, 1]."""
    for name in names:
        if not 0.0 <= _number(settings, name) <= 1.0:
            raise Error(f"`{name}` should be in the interval [0, 1]. Received {getattr(settings, name)!r}.")


def _number(settings: Config, name: str) -> float:
    """Return a setting as a float; NaN, which fails every range check, if it is a bool or not a number."""
    value: object = getattr(settings, name)
    return float(value) if type(value) is not bool and isinstance(value, numbers.Real) else math.nan
