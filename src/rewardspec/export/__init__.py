"""Monitors and specs as source code of other languages: one C99 file, or one ES module, that runs anywhere.

`Monitor.to_c`, `Monitor.to_js`, `Spec.to_c` and `Spec.to_js` are the ways in. What they print gives, bit by bit, what
the step in Python gives, as long as the compiler keeps to the order of operations, which it does unless told otherwise.
"""
