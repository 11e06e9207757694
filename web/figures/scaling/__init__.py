"""Figures of the `scaling` study, one module each; after the MSREP paper (docs/scaling.md).

A module has four functions: `info` takes numbers and names from the records, `draw` makes the figure of them, `table`
the numbers as text, `summary` the sentence that says what there is to see. Products from the host and work whose matrix
stays on the devices never share a figure; machines have panels of their own, and virtual devices are called so in each.
"""
