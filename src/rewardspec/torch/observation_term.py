"""What a spec's reward term remembers, as a term of the observation managers of Isaac Lab and mjlab.

These managers call each term once when they are made, to learn its shape: before there is a reward manager. They call
it again after every step, when the environments whose episodes ended have been reset.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from rewardspec.episodes.features import Features, Observe
from rewardspec.errors import SpecError
from rewardspec.spec import Spec
from rewardspec.torch.reward_term import Env, EnvIds, SpecTerm, TermCfg, spec_in


class SpecObservation:
    """An observation term that shows agents the state of a `SpecTerm`.

    Use the class as the `func` of an `ObservationTermCfg`; the parameters of `__call__` after `env` are its `params`.
    Isaac Lab asks for its own base class, as for `SpecTerm`.

    Attributes:
        names: What each of the numbers is called.

    Raises:
        SpecError: `params` has no spec, or `observe` is none of the choices.

    Example:
        >>> from types import SimpleNamespace
        >>> spec = Spec([("F high", 1)], {"high": lambda obs, action, env: env.height.clip(0, 1)})
        >>> env = SimpleNamespace(num_envs=2, device="cpu", step_dt=0.5, height=torch.tensor([0.25, 0.5]))
        >>> shown = SpecObservation(SimpleNamespace(params={"spec": spec, "term": "climb"}), env)
        >>> shown.names
        ('max[high]',)
        >>> shown(env, spec, "climb").tolist()
        [[0.0], [0.0]]
        >>> term = SpecTerm(SimpleNamespace(params={"spec": spec}), env)
        >>> env.reward_manager = SimpleNamespace(get_term_cfg=lambda name: SimpleNamespace(func=term))
        >>> _ = term(env, spec)
        >>> shown(env, spec, "climb").tolist()
        [[0.25], [0.5]]
    """

    def __init__(self, cfg: TermCfg, env: Env) -> None:
        self.cfg = cfg
        self._env = env
        self._features = Features(spec_in(cfg.params), cfg.params.get("observe", "registers"))
        self.names = self._features.names

    def reset(self, env_ids: EnvIds = None) -> None:
        """Do nothing: the reward term is told of resets itself."""

    def __call__(
        self, env: Env, spec: Spec | str | os.PathLike[str], term: str, observe: Observe = "registers"
    ) -> torch.Tensor:
        """Return the numbers of the reward term's state, floats of shape (num_envs, len(names)).

        They are zeros while there is no reward manager. `term` is the name of the reward term, a `SpecTerm`, and `spec`
        its spec or the path of its TOML file. `observe` says which numbers; see `rewardspec.episodes.features`.

        Raises:
            SpecError: The reward manager's term is not a `SpecTerm`.
        """
        manager = getattr(env, "reward_manager", None)
        if manager is None:
            return torch.zeros(env.num_envs, len(self.names), device=env.device)
        paying: Any = manager.get_term_cfg(term).func
        if not isinstance(paying, SpecTerm):
            raise SpecError(
                f"`term` should be the name of a reward term that is a SpecTerm. Received {term!r}, which is a "
                f"{type(paying).__name__}."
            )
        return paying.read(self._features)
