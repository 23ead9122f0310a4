"""What is written: table, curves, report, pictures of a policy and logs for TensorBoard."""
