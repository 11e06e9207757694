"""What is launched between two pulls, the same for all layouts: γ, the next base, how a run goes on."""

from gpu_engine.cuda.load import CudaSource

BETWEEN = CudaSource(__package__, "between.cu", ("next_iteration",))
"""γ and the next base."""

CHUNKS = (32, 8)
"""Iterations between two looks at γ of a run that ends by itself, where so many are needed and one more."""

CONVERGE = CudaSource(__package__, "converge.cu", (f"next_or_end<{CHUNKS[0]}, {CHUNKS[1]}>",))
"""What is launched there where such a run looks at γ."""

SHORTER_CHUNKS = (24, 6)
"""The same in segments: a precision has fewer iterations than a run."""

RAISE = CudaSource(__package__, "raise.cu", (f"next_or_raise<{SHORTER_CHUNKS[0]}, {SHORTER_CHUNKS[1]}>",))
"""What is launched after every pull of such a run in segments."""
