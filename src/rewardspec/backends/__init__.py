"""How register programs run: expressions, programs, and their compilation to scalar and to array code."""
