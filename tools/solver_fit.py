"""`python -m tools.solver_fit`: fit the cost model of solves to those of an H200, and print its errors on all GPUs.

Each system is left out once: its solves are predicted with costs that were fitted to the other systems.
"""

import math
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpu_engine.advisor import rank
from gpu_engine.advisor.gpus import gpu_named
from gpu_engine.findings.solvers.consistent import METHOD, NONE, PRECONDITIONER, consistent
from gpu_engine.findings.solvers.solve_model import SolveCosts, SolveParts, SystemSize, solve_parts
from gpu_engine.recordings.files import RECORDED, Recording, read
from gpu_engine.records import Measurement
from gpu_engine.solvers import METHODS, find_method

RECORDING = RECORDED / "h200" / "solvers.json.gz"
"""Solves of the fit."""

OTHERS = (RECORDED / "h100" / "solvers.json.gz",)
"""Solves on other GPUs, which only judge the fit."""

SHARE = 0.9
"""Share of the solves within the printed error."""


@dataclass(frozen=True, slots=True)
class RecordedSolve:
    """A measured solve without a preconditioner, and the inputs of its prediction.

    seconds, convert_s  of the solve and of the conversion
    spmv_s, advised_s   seconds of its SpMV, measured and by the performance model
    """

    matrix_id: str
    kernel: str
    parts: SolveParts
    seconds: float
    convert_s: float
    spmv_s: float
    advised_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """A solve predicted with costs of the other systems; ratio: predicted over measured seconds of the solve."""

    solve: RecordedSolve
    ratio: float

    @property
    def predicted_s(self) -> float:
        """Predicted seconds of conversion and solve."""
        return self.ratio * self.solve.seconds + self.solve.convert_s

    @property
    def measured_s(self) -> float:
        """Measured seconds of conversion and solve."""
        return self.solve.seconds + self.solve.convert_s


SpmvTime = Callable[[RecordedSolve], float]
"""(solve) → seconds of its SpMV."""


def recorded_solves(recording: Recording) -> list[RecordedSolve]:
    """Return the solves with Sparsight kernels and without a preconditioner; raises LookupError without a profile."""
    gpu = gpu_named(recording.device.name)
    if gpu is None or recording.profile is None:
        raise LookupError(f"The recording of {recording.device.name} has no GPU model or no profile.")
    features = {matrix.id: matrix.features for matrix in recording.matrices}
    advised = {name: {k: p.seconds for k, p in rank(known, gpu)} for name, known in features.items()}
    copy_rate = recording.profile.memory.copy
    return [
        RecordedSolve(
            m.matrix_id,
            m.kernel,
            solve_parts(
                find_method(m.axes[METHOD]), m.details.iterations, SystemSize.of(features[m.matrix_id]), copy_rate
            ),
            m.median_s or math.nan,
            m.details.convert_s,
            m.details.spmv_s,
            advised[m.matrix_id][m.kernel],
        )
        for m in consistent(recording.measurements)
        if _is_plain(m)
    ]


def _is_plain(m: Measurement) -> bool:
    """Return whether a measurement is a converged solve with a Sparsight kernel and without a preconditioner."""
    return m.state == "ok" and m.axes[PRECONDITIONER] == NONE and m.details.spmv_s is not None


def fit(solves: Sequence[RecordedSolve]) -> SolveCosts:
    """Return the costs with the least squares of (predicted − measured) / measured, which is linear in them."""
    names = [method.name for method in METHODS]
    rows, known = np.zeros((len(solves), len(names) + 2)), np.zeros(len(solves))
    for place, solve in enumerate(solves):
        parts = solve.parts
        vectors = parts.run * parts.vectors_s
        rows[place, names.index(parts.method.name)] = parts.run
        rows[place, -2:] = 1.0, vectors if parts.method.cycles else 0.0
        known[place] = parts.residuals_s + parts.spmvs * solve.spmv_s + (0.0 if parts.method.cycles else vectors)
    measured = np.array([solve.seconds for solve in solves])
    *each, call_s, reads = np.linalg.lstsq(rows / measured[:, None], 1.0 - known / measured, rcond=None)[0].tolist()
    return SolveCosts(call_s, dict(zip(names, each, strict=True)), reads)


def left_out(
    solves: Sequence[RecordedSolve], spmv_s: SpmvTime, fitted: Sequence[RecordedSolve] | None = None
) -> list[Outcome]:
    """Return the outcome of each solve with costs that were fitted to the solves of the other systems.

    fitted  solves of the fit, if it is another GPU's; each system is left out of them
    """
    outcomes: list[Outcome] = []
    for matrix_id in dict.fromkeys(solve.matrix_id for solve in solves):
        costs = fit([solve for solve in fitted or solves if solve.matrix_id != matrix_id])
        mine = (solve for solve in solves if solve.matrix_id == matrix_id)
        outcomes += (Outcome(solve, solve.parts.seconds(spmv_s(solve), costs) / solve.seconds) for solve in mine)
    return outcomes


def regrets(outcomes: Iterable[Outcome]) -> dict[tuple[str, str], float]:
    """Return (system, method) → measured seconds of the predicted kernel over those of the fastest, with conversion."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.solve.matrix_id, outcome.solve.parts.method.name), []).append(outcome)
    return {key: _regret(group) for key, group in groups.items()}


def _regret(group: Sequence[Outcome]) -> float:
    chosen = min(group, key=lambda outcome: outcome.predicted_s)
    return chosen.measured_s / min(outcome.measured_s for outcome in group)


def error(outcomes: Sequence[Outcome], share: float = SHARE) -> float:
    """Return the factor within which this share of the predictions is; 1: the largest."""
    return math.exp(float(np.quantile([abs(math.log(outcome.ratio)) for outcome in outcomes], share)))


SPMV_TIMES: Mapping[str, SpmvTime] = {
    "measured SpMV": lambda solve: solve.spmv_s,
    "SpMV of the performance model": lambda solve: solve.advised_s,
}


def report(solves: Sequence[RecordedSolve], fitted: Sequence[RecordedSolve]) -> Iterable[str]:
    """Yield the errors by method and of the choice of the kernel, with costs that were fitted to some solves."""
    for name, spmv_s in SPMV_TIMES.items():
        outcomes = left_out(solves, spmv_s, fitted)
        for method in (*(method.name for method in METHODS), ""):
            mine = [outcome for outcome in outcomes if method in ("", outcome.solve.parts.method.name)]
            median = statistics.median(outcome.ratio for outcome in mine)
            errors = ", ".join(f"{100 * share:g} %: {error(mine, share):.3f}" for share in (0.5, SHARE, 1.0))
            worst = max(mine, key=lambda outcome: abs(math.log(outcome.ratio)))
            where = f"{worst.solve.matrix_id}, {worst.solve.kernel}: {worst.ratio:.3f}"
            yield f"{name}, {method or 'all'}: {len(mine)} solves, median {median:.3f}, within {errors} ({where})"
        regret = sorted(regrets(outcomes).values())
        yield f"  regret of the kernel: mean {statistics.geometric_mean(regret):.4f}, largest {regret[-1]:.3f}"


def reports() -> Iterable[str]:
    """Yield the costs, and the errors on each GPU."""
    fitted = recorded_solves(read(RECORDING))
    yield str(fit(fitted))
    for path in (RECORDING, *OTHERS):
        recording = read(path)
        yield recording.device.name
        yield from report(recorded_solves(recording), fitted)


if __name__ == "__main__":
    sys.stdout.write("\n".join(reports()) + "\n")
