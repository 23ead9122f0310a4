"""Execution of machines: register programs, their code on floats and on arrays, bounds, and `Monitor`."""
