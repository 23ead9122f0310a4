"""The evaluation of "Expressive Temporal Specifications for Reward Monitoring" (AAAI-26), and nothing else.

Twelve tasks with four rewards each, the tasks as the paper's published numbers have them, and what can be achieved.
"""
