"""Studies: their jobs, results on disk, statistics, tables, curves and report."""
