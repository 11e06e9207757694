"""Command line that exports a kernel."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpu_engine.host.whole_files import write_whole
from gpu_engine.standalone.archive import archive, folder_of


def main(arguments: Sequence[str]) -> int:
    """Write the archive of a kernel and return 0; raises ParameterError for an unknown kernel, OSError."""
    parser = argparse.ArgumentParser(
        prog="python -m gpu_engine kernel", description="Export a kernel as a zip archive."
    )
    parser.add_argument("kernel", metavar="FORMAT/VARIANT", help="Sparsight kernel for GPUs")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="output file (default: FORMAT-VARIANT.zip in the current folder)"
    )
    options = parser.parse_args(arguments)
    path = options.out or Path(f"{folder_of(options.kernel)}.zip")
    write_whole(path, archive(options.kernel))
    sys.stderr.write(f"wrote {path}\n")
    return 0
