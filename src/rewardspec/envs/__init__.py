"""The twelve environments of the evaluation, labelled."""
