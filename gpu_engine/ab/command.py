"""Command line of the CI gate."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpu_engine.ab.contest import Gate, Pair, kernels_of
from gpu_engine.ab.report import report
from gpu_engine.ab.trees import opened
from gpu_engine.host.device import DEVICE_HELP, find_device
from gpu_engine.host.whole_files import write_whole
from gpu_engine.measure import open_bench
from gpu_engine.recordings.named_matrices import NamedMatrices
from gpu_engine.records import CACHES, Progress, Record
from gpu_engine.studies.formats.experiment import SamplingPlan

SLOWER = 7
"""Exit code if a kernel of head is slower than in base, or has no time although base has one."""

MATRICES = {
    "cuda": ("stencil:points=27,nx=96,ny=96,nz=96", "rmat:scale=18,edge_factor=16", "rows:n=1000000,mean=8"),
    "cpu": ("stencil:points=27,nx=24,ny=24,nz=24", "rmat:scale=13,edge_factor=16"),
}
"""Default matrices by back end: even and uneven rows, larger and smaller than the caches."""

REFERENCE = "csr/vector"

DESCRIPTION = "Measure the kernels of two checkouts in the same rounds. The exit code is 7 if a kernel became slower."


def main(arguments: Sequence[str]) -> int:
    """Run the gate and return SLOWER or 0; raises SparsightError for invalid input."""
    options = _parser().parse_args(arguments)
    device = find_device(options.device)
    with opened(options.base, "base") as base, opened(options.head, "head") as head, open_bench(device) as bench:
        kernels = kernels_of(base, head, device.backend, options.kernels, options.changed)
        plan = SamplingPlan(CACHES, options.rounds, _reference(kernels), 0.0)
        gate = Gate(base, head, bench, plan, _print_progress)
        pairs = list(_pairs(gate, kernels, options.matrices or MATRICES[device.backend]))
    text = report(pairs, device)
    sys.stdout.write(text)
    if options.markdown:
        write_whole(options.markdown, text)
    doubts = sum(pair.says == "inconclusive" for pair in pairs)
    if doubts:
        sys.stderr.write(f"warning: {doubts} of {len(pairs)} pairs are inconclusive; try more --rounds.\n")
    return SLOWER if any(pair.is_slower or pair.is_broken for pair in pairs) else 0


def _pairs(gate: Gate, kernels: Sequence[str], names: Sequence[str]) -> Iterator[Pair]:
    if kernels:
        for name, matrix in NamedMatrices(names).items():
            yield from gate.pairs(name, matrix, kernels)


def _reference(kernels: Sequence[str]) -> str:
    """Return the control kernel, which runs twice per round."""
    return f"base:{REFERENCE if REFERENCE in kernels else ''.join(kernels[:1])}"


def _print_progress(record: Record) -> None:
    if isinstance(record, Progress):
        sys.stderr.write(f"{record.message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gpu_engine ab", description=DESCRIPTION)
    parser.add_argument("--base", type=Path, required=True, metavar="DIR", help="checkout of the baseline")
    parser.add_argument(
        "--head", type=Path, default=Path(), metavar="DIR", help="checkout to test (default: current folder)"
    )
    parser.add_argument("--device", default="auto", help=DEVICE_HELP)
    parser.add_argument("--kernels", nargs="+", default=(), metavar="FORMAT/VARIANT", help="measure only these kernels")
    parser.add_argument("--changed", action="store_true", help="measure only kernels whose source files differ")
    parser.add_argument("--rounds", type=int, default=21, help="interleaved rounds per matrix (minimum 9)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the report to FILE")
    parser.add_argument(
        "matrices", nargs="*", metavar="MATRIX", help="matrices as for a study (default: a few generated matrices)"
    )
    return parser
