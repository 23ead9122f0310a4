"""Environments that publish their transition table `P`, as arrays, and their products with specs.

Such a product is finite too: it numbers a Discrete observation with the spec's registers, is what Q-learning learns
over, and can be solved and audited exactly.
"""
