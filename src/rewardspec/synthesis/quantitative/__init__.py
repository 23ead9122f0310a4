"""Exact quantitative monitors: obligations, equations, unrolling, reduction."""
