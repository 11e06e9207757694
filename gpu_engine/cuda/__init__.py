"""CUDA sources beside Python: load.py is the only place that compiles, and every header lies here."""
