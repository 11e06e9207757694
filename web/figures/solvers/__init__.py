"""Figures of the `solvers` study, one module per figure: time to the tolerance, residual, and share of the SpMVs.

A module has `info`, which computes the numbers from the data of the study, and functions of it: `draw` returns the
figure, `table` its numbers, and `summary` its text. A panel shows one problem: matrix, device, tolerance, and system.
"""
