"""Figures of the `batched` study, one module each; after the batched SpMV paper (docs/batched.md).

A module has four functions: `info` takes numbers and names from the records, `draw` makes the figure of them, `table`
the numbers as text, `summary` the sentence that says what there is to see. Devices and cache states have panels of
their own.
"""
