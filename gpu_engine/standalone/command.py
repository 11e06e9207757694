"""The command line that writes the archive of a kernel."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpu_engine.host.whole_files import write_whole
from gpu_engine.standalone.archive import archive, folder_of


def main(arguments: Sequence[str]) -> int:
    """Runs the command line; returns 0; raises ParameterError for a kernel that is none of ours on a GPU, OSError."""
    parser = argparse.ArgumentParser(prog="python -m gpu_engine kernel", description="Write a kernel as a zip.")
    parser.add_argument("kernel", metavar="FORMAT/VARIANT", help="a kernel of ours on a GPU")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: FORMAT-VARIANT.zip in this folder")
    asked = parser.parse_args(arguments)
    path = asked.out or Path(f"{folder_of(asked.kernel)}.zip")
    write_whole(path, archive(asked.kernel))
    sys.stderr.write(f"wrote {path}\n")
    return 0
