"""cuGraph beside our runs of PageRank: from the same recording where it holds its runs, else from an earlier record."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpu_engine.competitors.cugraph import NAME, TOLD, TOLERANCE, VERIFIED
from gpu_engine.findings.pagerank.runs import Run, RunGroup, has_right_ranks, run_groups
from gpu_engine.gpu_bench.markdown import BenchmarkData, lowest
from gpu_engine.recordings.files import RECORDED

EARLIER = RECORDED / "h200" / "cugraph.json"
"""Runs from before cuGraph was measured in the rounds of the study."""


@dataclass(frozen=True, slots=True)
class PeerTime:
    """Seconds of a run, and of one of its iterations."""

    iteration_s: float
    run_s: float


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """What the file EARLIER holds.

    environment  versions by name
    how          what was run, and what was not seen to
    copy         bytes/s that a copy reached on that device
    runs         by the name of the graph
    """

    library: str
    measured_at: str
    device: str
    environment: Mapping[str, str]
    how: str
    epsilon: float
    copy: float
    runs: Mapping[str, PeerTime]


@dataclass(frozen=True, slots=True)
class PeerRuns:
    """The runs of cuGraph that ours are held against.

    origin  where they come from, for a heading
    times   by the id of the matrix
    notes   sentences for below the table
    """

    origin: str
    times: Mapping[str, PeerTime]
    notes: tuple[str, ...]


@cache
def earlier_runs() -> EarlierRuns:
    """The earlier record."""
    document: dict[str, Any] = json.loads(EARLIER.read_text(encoding="utf-8"))
    runs = {name: PeerTime(**times) for name, times in document.pop("runs").items()}
    return EarlierRuns(**document, runs=runs)


def peer_runs(data: BenchmarkData) -> PeerRuns:
    """Of the recording where a run of cuGraph in it has the right ranks, else the earlier ones as fast as its copy."""
    groups = run_groups(data.study)
    found = {
        group.matrix_id: run for group in groups if (run := _run(group, VERIFIED)) and has_right_ranks(run, data.study)
    }
    if not found:
        return _scaled(data)
    versions = sorted({run.measurement.environment.get("cuGraph", "") for run in found.values()})
    times = {
        name: PeerTime(run.measurement.median_s / (run.measurement.details.iterations or 1), run.measurement.median_s)
        for name, run in found.items()
        if run.measurement.median_s
    }
    origin = f"cuGraph {', '.join(versions)} in the same rounds, told what brings its verified residual under ε"
    return PeerRuns(origin, times, tuple(_told(groups, data)))


def _run(group: RunGroup, tolerance: str) -> Run | None:
    runs = (run for run in group.timed if run.measurement.kernel == NAME)
    return next((run for run in runs if run.measurement.axes[TOLERANCE] == tolerance), None)


def _told(groups: Sequence[RunGroup], data: BenchmarkData) -> Iterator[str]:
    """What it takes where it is told ε, and how often that is enough."""
    told = [(run, group.fastest_full) for group in groups if (run := _run(group, TOLD))]
    over = [
        run.measurement.median_s / full.measurement.median_s
        for run, full in told
        if full and run.measurement.median_s and full.measurement.median_s
    ]
    if ratios := lowest(over, "graphs"):
        right = sum(has_right_ranks(run, data.study) for run, _ in told)
        said = f"its verified residual is under ε on {right} of {len(told)}"
        yield f"Told ε, a run of cuGraph over ours: {ratios}; {said}."


def _scaled(data: BenchmarkData) -> PeerRuns:
    """The earlier runs, in the time that a device of this recording's copy bandwidth would take."""
    earlier, profile = earlier_runs(), data.recording.profile
    copy = profile.memory.copy if profile else earlier.copy
    scale = earlier.copy / copy
    names = {data.name(matrix.id): matrix.id for matrix in data.recording.matrices}
    times = {
        names[name]: PeerTime(scale * time.iteration_s, scale * time.run_s)
        for name, time in earlier.runs.items()
        if name in names
    }
    under = ", ".join(f"{name} {value}" for name, value in earlier.environment.items())
    origin = f"{earlier.library} of {earlier.measured_at} scaled to a copy of {copy / 1e12:.2f} TB/s"
    where = f"{earlier.library} was measured on {earlier.measured_at} on {earlier.device} ({under})"
    return PeerRuns(origin, times, (f"{where}, whose copy reached {earlier.copy / 1e12:.2f} TB/s. {earlier.how}",))
