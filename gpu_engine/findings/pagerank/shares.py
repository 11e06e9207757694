"""Shares of the time of a run by precision and for changes of precision: Figure 5 of the CPMS PageRank paper."""

from collections.abc import Mapping
from statistics import median

from gpu_engine.findings.pagerank.runs import Run
from gpu_engine.pagerank.run import PHASES

WORD_BITS = 64

CHANGE = 0
"""Key of the changes of precision: scaling of the ranks, and conversion to fp64."""

PULL, NORM, *CHANGES = PHASES


def precision_shares(run: Run) -> Mapping[int, float]:
    """Return the share of the run's time by the bits that an iteration writes, and for CHANGE; empty without phases.

    Source: Figure 5 of the paper, whose part `precision change` has the conversion and the normalization.
    """
    pulls, norms, written = (run.array(name) for name in (f"{PULL}_s", f"{NORM}_s", "written"))
    seconds = {CHANGE: sum(sum(run.array(f"{phase}_s")) for phase in CHANGES)}
    for segments, *phases in zip(written, pulls, norms, strict=False):
        bits = WORD_BITS // run.segments * int(segments) if run.segments else WORD_BITS
        seconds[bits] = seconds.get(bits, 0.0) + sum(phases)
    total = sum(seconds.values())
    return {bits: part / total for bits, part in sorted(seconds.items())} if total > 0 else {}


def iteration_s(run: Run, segments: int) -> float:
    """Return the median seconds of pull and norm of the iterations that read and write so many segments; 0 if none."""
    arrays = (run.array(name) for name in ("read", "written", f"{PULL}_s", f"{NORM}_s"))
    times = [pull + norm for read, wrote, pull, norm in zip(*arrays, strict=False) if read == wrote == segments]
    return median(times) if times else 0.0
