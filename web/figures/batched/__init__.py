"""Figures of the `batched` study, one module per figure; after the batched SpMV paper (docs/batched.md).

A module has `info`, which computes the numbers from the data of the study, and functions of it: `draw` returns the
figure, `table` its numbers, and `summary` its text. Each device and cache state has its own panel.
"""
