"""Figures of the `pagerank` study, one module per figure; after the CPMS PageRank paper (docs/pagerank.md).

A module has `info`, which computes the numbers from the data of the study, and functions of it: `draw` returns the
figure, `table` its numbers, and `summary` its text. Each graph, device, and set of parameters has its own panel.
"""
