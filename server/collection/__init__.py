"""SuiteSparse Matrix Collection: its index, conditions on the index, and downloads of matrices by name."""
