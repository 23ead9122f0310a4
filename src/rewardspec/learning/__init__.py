"""Who learns: tabular Q-learning and PPO, every seed of a cell trained together as one array program."""
