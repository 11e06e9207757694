"""Figures of the `reduced_spmv` study, one module per figure; after Figure 4 of the CPMS PageRank paper.

A module has `info`, which computes the numbers from the data of the study, and functions of it: `draw` returns the
figure, `table` its numbers, and `summary` its text. They show means over graphs. Devices and lower triangles have
their own panels.
"""
