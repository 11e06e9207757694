"""Figures of the `spmm` study."""
