"""CUDA support: compiler, kernel cache, launches, and all headers of CUDA sources."""
