"""What can be said: formulas, their text, their meaning, and value-preserving rewriting."""
