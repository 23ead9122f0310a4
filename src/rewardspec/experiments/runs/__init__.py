"""How jobs are done: what a job is, where it runs, and how its result is kept."""
