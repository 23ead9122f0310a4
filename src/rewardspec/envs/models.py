"""Finite models of environments that publish their table `P`; see `rewardspec.wrappers.finite_models`."""

from rewardspec.wrappers.finite_models import FiniteModel, ModelError, finite_model

__all__ = ["FiniteModel", "ModelError", "finite_model"]
