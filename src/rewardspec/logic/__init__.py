"""The language: formulas, their text, their semantics, and value-preserving rewriting."""
