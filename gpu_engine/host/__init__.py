"""The machine that the engine runs on: its devices, caches, private files, signals, and Numba."""
