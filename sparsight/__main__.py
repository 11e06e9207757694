"""Entry point of `python -m sparsight`: the command line."""

from sparsight.cli import main

main()
