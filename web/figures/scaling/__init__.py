"""Figures of the `scaling` study, one module per figure; after the MSREP paper (docs/scaling.md).

A module has `info`, which computes the numbers from the data of the study, and functions of it: `draw` returns the
figure, `table` its numbers, and `summary` its text. SpMV from the host and resident matrices never share a figure.
Each machine has its own panel; simulated devices are labeled.
"""
