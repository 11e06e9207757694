"""CI gate, `python -m gpu_engine ab`: compares the kernels of two checkouts in the same rounds of one process.

trees    imports a source tree as a package with another name, so that one process can have two of them
contest  measures all kernels of both trees, repeats the slower ones, and compares them
report   the result as Markdown
command  the command line and its exit codes
"""
