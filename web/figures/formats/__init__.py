"""Figures of the `formats` study, one module each.

A module has `info`, which computes the numbers and names of the figure from the data of the study, and functions of
that: `draw` makes the figure, `table` its numbers as text, `summary` the sentence that says what there is to see.
Figures are faceted by device and cache state, which never share axes.
"""
