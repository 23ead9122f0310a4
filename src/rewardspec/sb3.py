"""Specs in Stable-Baselines3: a callback that logs what the formulas are worth; needs the extra `sb3`."""

from __future__ import annotations

import re

import numpy as np

from rewardspec.errors import Error, MissingExtraError

try:
    from stable_baselines3.common.callbacks import BaseCallback
except ImportError:
    raise MissingExtraError("stable-baselines3", "sb3", "rewardspec.sb3") from None

__all__ = ["FormulaLogger"]

# SB3's table on standard output cuts longer keys to 36 characters, of which 3 are indentation and 3 an ellipsis, and
# raises an error where two become the same.
_TOLD_APART_BY = 36 - 3 - 3 - len("value/")


class FormulaLogger(BaseCallback):
    """An SB3 callback that logs the spec's side of training, for environments wrapped in `MonitorReward`.

    Logged whenever SB3 writes its log (for PPO and A2C: with every rollout), as means since the last time:

    - `rewardspec/value/NAME`: the value of each formula, over all steps;
    - `rewardspec/final/NAME`: its value where an episode ended, over the episodes that ended;
    - `rewardspec/reward` and `rewardspec/base_reward`: the spec's reward and the environment's own, over all steps;
    - `rewardspec/return` and `rewardspec/base_return`: their sums over an episode, over the episodes that ended;
    - `rewardspec/cost`: the share of the steps that violated a safety objective, each episode's first violation;
    - `rewardspec/violated`: the share of the episodes that ended with a safety objective violated.

    Everything is read from the steps' `info`, so that neither the kind of `VecEnv` nor the order of SB3's `Monitor` and
    the wrapper matters. Rewards are those before `VecNormalize`. The returns of the first episodes are complete only
    where the environments were reset when learning began.

    Args:
        verbose: As for every SB3 callback; nothing is printed.

    Raises:
        Error: From the first step: no environment is wrapped in `MonitorReward`.

    Example:
        >>> import gymnasium as gym, rewardspec as rs
        >>> from stable_baselines3 import PPO
        >>> spec = rs.Spec([("G level", 1)], atoms={"level": lambda obs, action, next_obs: abs(next_obs[..., 2]) < 0.1})
        >>> env = rs.wrappers.MonitorReward(gym.make("CartPole-v1"), spec)
        >>> model = PPO("MlpPolicy", env, n_steps=64, seed=0, device="cpu")
        >>> model = model.learn(64, callback=FormulaLogger(), log_interval=10)  # so late that nothing is written yet
        >>> sorted(key for key in model.logger.name_to_value if key.startswith("rewardspec/value"))
        ['rewardspec/value/G level']
    """

    def __init__(self, verbose: int = 0) -> None:
        super().__init__(verbose)
        self._keys: dict[str, str] = {}  # what each formula is called in the log

    def _on_training_start(self) -> None:
        self._returns = np.zeros((2, self.training_env.num_envs))

    def _on_step(self) -> bool:
        normalized = self.model.get_vec_normalize_env()
        rewards = self.locals["rewards"] if normalized is None else normalized.get_original_reward()
        infos = self.locals["infos"]
        if not any("formula_values" in info for info in infos):
            raise Error(
                "FormulaLogger reads what MonitorReward puts into `info`, and no environment's has 'formula_values'. "
                "Wrap the environments in rewardspec.wrappers.MonitorReward; `make_vec_env` takes a function that does."
            )
        mean = self.logger.record_mean
        for k, (reward, ended, info) in enumerate(zip(rewards, self.locals["dones"], infos, strict=True)):
            if "formula_values" not in info:
                continue
            values = {self._key(name): value for name, value in info["formula_values"].items()}
            own = float(reward), info["base_reward"]
            self._returns[:, k] += own
            mean("rewardspec/reward", own[0])
            mean("rewardspec/base_reward", own[1])
            mean("rewardspec/cost", info["cost"])
            for key, value in values.items():
                mean(f"rewardspec/value/{key}", value)
            if ended:
                for key, value in values.items():
                    mean(f"rewardspec/final/{key}", value)
                mean("rewardspec/violated", float(info["violated"]))
                mean("rewardspec/return", float(self._returns[0, k]))
                mean("rewardspec/base_return", float(self._returns[1, k]))
                self._returns[:, k] = 0.0
        return True

    def _key(self, name: str) -> str:
        """A formula's name without commas, which SB3 writes into CSV files as they are, and unlike all others."""
        if name not in self._keys:
            key = re.sub(r"\[(\d*),(\d*)", r"[\1:\2", name).replace(",", ";").replace("\n", " ")
            taken = {other[:_TOLD_APART_BY] for other in self._keys.values()}
            numbered, number = key, 1
            while numbered[:_TOLD_APART_BY] in taken:
                number += 1
                numbered = f"{number}: {key}"
            self._keys[name] = numbered
        return self._keys[name]
