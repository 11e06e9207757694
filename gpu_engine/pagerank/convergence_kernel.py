"""CUDA sources of the norm phase, between two pulls: γ, the next base, and the test of convergence."""

from gpu_engine.cuda.load import CudaSource

BETWEEN = CudaSource(__package__, "between.cu", ("next_iteration",))
"""Source of γ and of the next base."""

CHUNKS = (32, 8)
"""Iterations per chunk of a run that ends on the device; a chunk runs only if more iterations are needed."""

CONVERGE = CudaSource(__package__, "converge.cu", (f"next_or_end<{CHUNKS[0]}, {CHUNKS[1]}>",))
"""Source that also tests γ, for such runs."""

SHORTER_CHUNKS = (24, 6)
"""CHUNKS for segments, shorter because each precision has fewer iterations."""

RAISE = CudaSource(__package__, "raise.cu", (f"next_or_raise<{SHORTER_CHUNKS[0]}, {SHORTER_CHUNKS[1]}>",))
"""Source that also raises the precision, for such runs in segments."""
