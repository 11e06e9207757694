"""Figures of the `formats` study, one module each.

A module has up to three functions of the same records: `draw` makes the figure, `table` its numbers as text, `summary`
the sentence that says what there is to see. Figures are faceted by device and cache state, which never share axes.
"""
