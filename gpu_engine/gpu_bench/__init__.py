"""The benchmark behind `make gpu-bench`: its matrices and their cache, and one module and tables per study.

`python -m gpu_engine.gpu_bench --help` lists the options. All printed tables are computed from the written records.
"""
