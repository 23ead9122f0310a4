"""The twelve environments of the paper's evaluation, one file each."""
