"""What is measured: convergence, task completion with its intervals, comparisons, and the paper's own numbers."""
