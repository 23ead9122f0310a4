"""Lint: what a spec says that its author can hardly mean.

- `linter`: the table of rules; `pair_rules` and `spec_rules`: the rules themselves;
- `findings`: what rules look at and report;
- `exploration`: every state that small monitors can reach, which rules are decided by.
"""
