"""Settings of the learners, `QLearning`, `PPO` and `SB3`: the type says which learner, the values are checked."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from rewardspec.errors import Error

Unit: TypeAlias = Literal["episodes", "steps"]
"""What a training budget is counted in."""
LARGEST_EXACT = 2**24
"""Up to here a 32-bit float holds every integer, which the episode record of Q-learning relies on.

The number of an outcome and the length of an episode have to be exact. The step at which an episode ended may pass this
in a long run: it is only looked up on the clock, and is wrong by less than a ten-millionth of itself.
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class QLearning:
    """Settings of tabular Q-learning; the defaults are those of the paper's evaluation.

    Attributes:
        unit: What its budget is counted in.
        episodes: Episodes of each run.
        steps: Steps of each run, where they are the budget instead of `episodes`; an episode begun is not counted.
        max_steps: Steps after which an episode is truncated.
        learning_rate: Share of the temporal difference by which an entry moves.
        discount: Discount factor.
        epsilon: Probability of a random action in the first episode.
        epsilon_decay: Factor on it after every episode.
        epsilon_min: Where it stops falling.
        initial_value: What every entry of the table is at first.
        ties: Whether the `"first"` of equally good actions is taken, or a `"random"` one.
        starts: Whether the start of an episode is `"drawn"`, or the environment's starts follow one another
            `"in turn"`, as where each is a task of its own.
        bootstrap_truncated: Whether an episode that is truncated goes on as far as its value is concerned.
        counterfactual: Whether each transition also teaches what it would have been in every other state that the
            monitor can be in beside the same state of the environment (Toro Icarte et al., JAIR 2022).
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
        _check_counts(self, "episodes", "max_steps", *(() if self.steps is None else ("steps",)))
        if not math.isfinite(_number(self, "initial_value")):
            raise Error(f"`initial_value` should be a finite number. Received {self.initial_value!r}.")
        if self.ties not in ("first", "random"):
            raise Error(f"`ties` should be 'first' or 'random'. Received {self.ties!r}.")
        if self.starts not in ("drawn", "in turn"):
            raise Error(f"`starts` should be 'drawn' or 'in turn'. Received {self.starts!r}.")
        if self.max_steps > LARGEST_EXACT:
            raise Error(f"`max_steps` should be at most {LARGEST_EXACT}. Received {self.max_steps!r}.")
        _check_shares(self, "learning_rate", "discount", "epsilon", "epsilon_decay", "epsilon_min")
        _check_flags(self, "bootstrap_truncated", "counterfactual")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PPO:
    """Settings of PPO; `PPO.discrete()` and `PPO.continuous()` are those of the paper's evaluation but for truncation.

    Attributes:
        unit: What its budget is counted in.
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
        clip: How far the probability ratio, and the value, may move in one update.
        clip_value_loss: Whether the value is clipped as well.
        entropy_coefficient: Weight of the policy's entropy.
        value_coefficient: Weight of the value loss.
        max_grad_norm: Where the gradient's norm is clipped.
        normalize_observations: Whether observations are scaled by their running moments.
        normalize_rewards: Whether rewards are scaled by the deviation of the discounted return so far.
        bootstrap_truncated: Whether an episode that is truncated goes on as far as its value is concerned, as it does
            in theory; else it counts as one that terminated, as in CleanRL and so in the paper.
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

    def __post_init__(self) -> None:
        _check_counts(self, "total_steps", "rollout_steps", "envs", "minibatches", "epochs")
        _check_shares(self, "discount", "gae_lambda")
        _check_flags(self, "anneal", "normalize_advantages", "clip_value_loss", "bootstrap_truncated")
        _check_flags(self, "normalize_observations", "normalize_rewards")
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
            raise Error(f"`total_steps` should be at least one rollout, {size}. Received {self.total_steps!r}.")

    @classmethod
    def discrete(cls, **changes: Any) -> PPO:
        """The paper's settings for discrete actions, truncated episodes bootstrapped, with some changed."""
        return cls(**changes)

    @classmethod
    def continuous(cls, **changes: Any) -> PPO:
        """The paper's settings for continuous actions, truncated episodes bootstrapped, with some changed."""
        settings: dict[str, Any] = {
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
    """Settings of an algorithm of Stable-Baselines3; what is not given is as there.

    Attributes:
        unit: What its budget is counted in.
        algorithm: The name of its class, such as `"PPO"` or `"SAC"`.
        total_steps: Steps of each run, in all its environments together.
        envs: Environments of each run.
        policy: The name of its kind of policy.
        options: Further arguments of the class, by name, in plain values.
    """

    unit: ClassVar[Unit] = "steps"
    algorithm: str
    total_steps: int = 100_000
    envs: int = 1
    policy: str = "MlpPolicy"
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_counts(self, "total_steps", "envs")

    @property
    def discount(self) -> float:
        """Discount factor."""
        return float(self.options.get("gamma", 0.99))


Config: TypeAlias = QLearning | PPO | SB3
"""Settings of a learner."""


def learner_words(learner: str) -> str:
    """What a learner is called.

    Example:
        >>> learner_words("q-learning"), learner_words("sb3:SAC")
        ('Q-learning', 'SAC of Stable-Baselines3')
    """
    own = {"ppo": "PPO", "q-learning": "Q-learning"}
    return own[learner] if learner in own else f"{learner.removeprefix('sb3:')} of Stable-Baselines3"


def _check_counts(settings: Config, *names: str) -> None:
    """Raise an Error unless these settings are whole numbers from 1 on."""
    for name in names:
        value: Any = getattr(settings, name)
        if type(value) is bool or not isinstance(value, numbers.Integral):
            raise Error(f"`{name}` should be a whole number. Received {value!r}. Give it as an int.")
        if int(value) < 1:
            raise Error(f"`{name}` should be at least 1. Received {value!r}.")


def _check_shares(settings: Config, *names: str) -> None:
    """Raise an Error unless these settings are numbers in [0, 1]."""
    for name in names:
        if not 0.0 <= _number(settings, name) <= 1.0:
            raise Error(f"`{name}` should be in the interval [0, 1]. Received {getattr(settings, name)!r}.")


def _number(settings: Config, name: str) -> float:
    """A setting; NaN, which lies within no limits, where it is not a number. Truth values are none."""
    value: Any = getattr(settings, name)
    return float(value) if type(value) is not bool and isinstance(value, numbers.Real) else math.nan


def _check_flags(settings: Config, *names: str) -> None:
    """Raise an Error unless these settings are true or false."""
    for name in names:
        value = getattr(settings, name)
        if not isinstance(value, bool):
            raise Error(f"`{name}` should be true or false. Received {value!r}.")
