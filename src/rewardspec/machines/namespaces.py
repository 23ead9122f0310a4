"""Array namespaces: find the library of a value without importing any that the caller does not use."""

from __future__ import annotations

import sys

import numpy as np

from rewardspec.types import Array, ArrayNamespace, Number


def namespace_of(value: Number) -> ArrayNamespace | None:
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


def _is_torch_tensor(value: Number) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def device_of(array: Array) -> object | None:
    """Return the device of a torch tensor; None for other libraries, which place arrays by themselves."""
    return array.device if _is_torch_tensor(array) else None


def to_numpy(array: Array) -> np.ndarray:
    """Copy an array of any library to NumPy; waits for its device.

    Example:
        >>> to_numpy([0.5])
        array([0.5])
    """
    return np.asarray(array.detach().cpu() if _is_torch_tensor(array) else array)
