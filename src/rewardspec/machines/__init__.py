"""How machines run: register programs as one form, their code on floats and on arrays, bounds, and `Monitor`."""
