"""The benchmark engine: prepares and verifies kernels, times them in interleaved rounds, and decides when to stop."""
