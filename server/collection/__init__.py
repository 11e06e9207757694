"""The SuiteSparse Matrix Collection: its index, conditions on it, and downloads of its matrices by name."""
