"""Specs as the reward of environments written in JAX; needs the extra `jax`.

`SpecReward` runs a batch of environments under `jit`, `vmap` and `lax.scan`, pays by a spec, and resets each
environment where its episode ends. `from_gymnax` and the other adapters make an `Environment` of what other libraries
provide; `as_gymnax` and `as_brax` hand a `SpecReward` to the trainers of others.
"""

from rewardspec.errors import MissingExtraError

try:
    import jax as _jax  # noqa: F401  # only to report that it is missing
except ImportError:
    raise MissingExtraError("jax", "jax", "rewardspec.jax") from None

from rewardspec.jax.adapters import (
    from_brax,
    from_craftax,
    from_gymnax,
    from_jaxmarl,
    from_jumanji,
    from_navix,
    from_pgx,
    from_playground,
    from_xminigrid,
)
from rewardspec.jax.environment import (
    ActionSpace,
    Box,
    Discrete,
    Environment,
    EnvState,
    EnvStep,
    FunctionalEnvironment,
    MultiDiscrete,
    observation_struct,
    sample_actions,
)
from rewardspec.jax.outward import as_brax, as_gymnax
from rewardspec.jax.spec_reward import AutoReset, SpecReward, State

__all__ = [
    "ActionSpace",
    "AutoReset",
    "Box",
    "Discrete",
    "EnvState",
    "EnvStep",
    "Environment",
    "FunctionalEnvironment",
    "MultiDiscrete",
    "SpecReward",
    "State",
    "as_brax",
    "as_gymnax",
    "from_brax",
    "from_craftax",
    "from_gymnax",
    "from_jaxmarl",
    "from_jumanji",
    "from_navix",
    "from_pgx",
    "from_playground",
    "from_xminigrid",
    "observation_struct",
    "sample_actions",
]
