"""Which array library a value belongs to, without importing any that the caller does not use."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def namespace_of(value: Any) -> Any | None:
    """The module whose `minimum`, `maximum` and `where` work on the value; None for numbers.

    Example:
        >>> namespace_of(np.zeros(3)).__name__, namespace_of(0.5)
        ('numpy', None)
    """
    if isinstance(value, np.ndarray):
        return np
    if isinstance(value, float | int | np.generic):
        return None
    library = type(value).__module__.partition(".")[0]
    if library in ("jax", "jaxlib"):
        import jax.numpy

        return jax.numpy
    if library == "torch" or _is_torch_tensor(value):
        return sys.modules["torch"]
    if hasattr(value, "__array_namespace__"):
        return value.__array_namespace__()
    return None


def _is_torch_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
