"""Minimal deterministic automata with symbolic guards."""
