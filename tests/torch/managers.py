"""Stubs of the managers of Isaac Lab 2, with the contract that a reward term has to keep.

Read off `isaaclab.managers.ManagerBase.resolve_term_cfg` and `RewardManager`, which cannot be installed here:

- the configuration is copied deeply, and a term that is a class has to be a subclass of `ManagerTermBase`;
- the class is made with `(cfg=…, env=…)`, and the parameters of its call have to be those in `params`;
- `compute(dt)` adds `func(env, **params) * weight * dt`, and skips terms whose weight is 0;
- `reset(env_ids)` calls `reset(env_ids=…)` of the term, with a slice of all where `env_ids` is None.
"""

import copy
import inspect
from dataclasses import dataclass, field
from typing import Any

import torch


class ManagerTermBase:
    """The base class of terms with a state."""

    def __init__(self, cfg, env):
        self.cfg, self._env = cfg, env

    @property
    def num_envs(self):
        return self._env.num_envs


@dataclass
class RewardTermCfg:
    func: Any
    weight: float
    params: dict[str, Any] = field(default_factory=dict)


class RewardManager:
    def __init__(self, cfg, env):
        self.cfg, self._env = copy.deepcopy(cfg), env
        for term in self.cfg.values():
            assert issubclass(term.func, ManagerTermBase)
            term.func = term.func(cfg=term, env=env)
            env_name, *names = inspect.signature(term.func).parameters.values()
            required = {each.name for each in names if each.default is inspect.Parameter.empty}
            assert env_name.name == "env"
            assert required <= set(term.params) <= {each.name for each in names}

    def compute(self, dt):
        total = torch.zeros(self._env.num_envs)
        for term in self.cfg.values():
            if term.weight != 0.0:
                total += term.func(self._env, **term.params) * term.weight * dt
        return total

    def reset(self, env_ids=None):
        for term in self.cfg.values():
            term.func.reset(env_ids=slice(None) if env_ids is None else env_ids)

    def get_term_cfg(self, name):
        return self.cfg[name]
