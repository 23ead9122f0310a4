"""Atoms: from transitions to labels.

- `functions`: what an atom's function is given, and functions made from others;
- `labeling`, `batch_labeling`: the labels of one transition, and of a batch;
- `batch_info`: the `info` of a batch; `batch_checks`: whether an atom keeps the elements of a batch apart;
- `expressions`: the language of atoms that are text; `components`, `operations` and `shapes` are its names, functions
  and label shapes; `expression_atoms` makes it functions;
- `ready_made`: atoms for MiniGrid and for common continuous tasks;
- `references`: functions that a file names.
"""
