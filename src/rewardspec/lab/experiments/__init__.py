"""What is shown: the paper's evaluation as jobs, their results on disk, statistics, table, figure and report."""
