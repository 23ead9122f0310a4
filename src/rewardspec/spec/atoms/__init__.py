"""Atoms: functions of a transition, expressions, label shapes, and how labels are read from observations."""
