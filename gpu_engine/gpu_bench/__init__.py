"""The benchmark behind `make gpu-bench`: which matrices, how they are made and kept, one module per study, its table.

`python -m gpu_engine.gpu_bench --help` says what it takes. Everything it prints is computed from the records that it
writes.
"""
