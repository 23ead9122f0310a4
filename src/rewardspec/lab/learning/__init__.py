"""Learners for any task: tabular Q-learning and PPO, all seeds trained together as one array program."""
