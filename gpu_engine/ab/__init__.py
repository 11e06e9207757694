"""`python -m gpu_engine ab`: the kernels of two source trees in the same rounds of one process, for a gate of CI.

trees    a source tree becomes a package of its own name, so that two live in one process
contest  every kernel of both, what is slower measured a second time, and the verdicts
report   Markdown
command  the command line and its exit codes
"""
