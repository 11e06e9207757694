"""CUDA sources beside Python: load.py is the only place that compiles, common.cuh the only header."""
