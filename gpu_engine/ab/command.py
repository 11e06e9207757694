"""The command line of the gate."""

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
"""The exit code of a gate that found something slower, or without a time that base has."""

MATRICES = {
    "cuda": ("stencil:points=27,nx=96,ny=96,nz=96", "rmat:scale=18,edge_factor=16", "rows:n=1000000,mean=8"),
    "cpu": ("stencil:points=27,nx=24,ny=24,nz=24", "rmat:scale=13,edge_factor=16"),
}
"""Measured where none is named: even rows and uneven ones, beyond and within the caches."""

REFERENCE = "csr/vector"

DESCRIPTION = "Measures the kernels of two checkouts in the same rounds; exits 7 where one became slower."


def main(arguments: Sequence[str]) -> int:
    """Runs the gate; returns SLOWER where something is, else 0; raises SparsightError on bad input."""
    asked = _parser().parse_args(arguments)
    device = find_device(asked.device)
    with opened(asked.base, "base") as base, opened(asked.head, "head") as head, open_bench(device) as bench:
        kernels = kernels_of(base, head, device.backend, asked.kernels, asked.changed)
        plan = SamplingPlan(CACHES, asked.rounds, _reference(kernels), 0.0)
        gate = Gate(base, head, bench, plan, _tell)
        pairs = list(_pairs(gate, kernels, asked.matrices or MATRICES[device.backend]))
    text = report(pairs, device)
    sys.stdout.write(text)
    if asked.markdown:
        write_whole(asked.markdown, text)
    doubts = sum(pair.says == "inconclusive" for pair in pairs)
    if doubts:
        sys.stderr.write(f"warning: {doubts} of {len(pairs)} pairs are inconclusive; more --rounds may settle them.\n")
    return SLOWER if any(pair.is_slower or pair.is_broken for pair in pairs) else 0


def _pairs(gate: Gate, kernels: Sequence[str], names: Sequence[str]) -> Iterator[Pair]:
    if kernels:
        for name, matrix in NamedMatrices(names).items():
            yield from gate.pairs(name, matrix, kernels)


def _reference(kernels: Sequence[str]) -> str:
    """What enters every round twice."""
    return f"base:{REFERENCE if REFERENCE in kernels else ''.join(kernels[:1])}"


def _tell(record: Record) -> None:
    if isinstance(record, Progress):
        sys.stderr.write(f"{record.message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gpu_engine ab", description=DESCRIPTION)
    parser.add_argument("--base", type=Path, required=True, metavar="DIR", help="the checkout to hold against")
    parser.add_argument("--head", type=Path, default=Path(), metavar="DIR", help="the checkout to judge; default: here")
    parser.add_argument("--device", default="auto", help=DEVICE_HELP)
    parser.add_argument("--kernels", nargs="+", default=(), metavar="FORMAT/VARIANT", help="these alone")
    parser.add_argument("--changed", action="store_true", help="only kernels whose own source differs")
    parser.add_argument("--rounds", type=int, default=21, help="interleaved rounds a matrix, at least 9")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the report here too")
    parser.add_argument("matrices", nargs="*", metavar="MATRIX", help="as for a study; default: a few generated ones")
    return parser
