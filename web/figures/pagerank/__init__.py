"""Figures of the `pagerank` study, one module each; after the CPMS PageRank paper (gpu_engine/pagerank/__init__.py).

A module has `info`, which computes the numbers and names of the figure from the data of the study, and functions of
that: `draw` makes the figure, `table` its numbers as text, `summary` the sentence that says what there is to see.
A panel is a matrix on a device; runs of different devices share none.
"""
