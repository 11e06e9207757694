"""Kernels that users bring: measured in the rounds of ours, refereed, never in FORMATS.

sources     what a contestant is called, where it lies, and how its code is imported
adapters    Contestant and CudaContestant: a Python callable, or CUDA source, as a Format
seal        what foreign code may not replace in this process
examiner    a new x for each turn, and what is wrong with a y
candidate   a contestant in the rounds: what is checked before, in and after each turn
experiment  the products of one matrix with contestants among them
"""

from gpu_engine.contestants.adapters import Contestant, CudaContestant

__all__ = ["Contestant", "CudaContestant"]
