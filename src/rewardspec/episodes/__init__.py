"""Episodes: what a spec makes of them, explained, recorded, relabeled."""
