"""Figures of the `reduced_spmv` study, one module each; after Figure 4 of the CPMS PageRank paper.

A module has `info`, which computes the numbers of the figure from the data of the study, and functions of that: `draw`
makes the figure, `table` its numbers as text, `summary` the sentences that say what there is to see. Graphs are in it
by their mean; those of different devices, and lower triangles, have panels of their own.
"""
