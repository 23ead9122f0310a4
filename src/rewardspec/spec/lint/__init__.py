"""Lint: what a spec says that its author can hardly mean."""
