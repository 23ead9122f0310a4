"""The paper's evaluation: twelve tasks with four rewards each, and the numbers that the paper prints."""
