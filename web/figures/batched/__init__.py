"""Figures of the `batched` study, one module each; after the batched SpMV paper (docs/batched.md).

A module has up to three functions of the same records: `draw` makes the figure, `table` its numbers as text, `summary`
the sentence that says what there is to see. Devices and cache states have panels of their own.
"""
