"""Products of finite environments with specs; see `rewardspec.wrappers.products`."""

from rewardspec.wrappers.products import DEFAULT_NODES, Product, build_product

__all__ = ["DEFAULT_NODES", "Product", "build_product"]
