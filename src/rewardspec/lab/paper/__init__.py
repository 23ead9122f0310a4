"""The evaluation of "Expressive Temporal Specifications for Reward Monitoring" (AAAI-26).

It holds twelve tasks with four rewards each, and the tasks as published.
"""
