"""Error rates of change points: histories of known noise, and of recorded jobs, with or without a step of known size.

`python -m tools.history_rates` prints the table of docs/measuring.md. The jobs of a simulated history are those of the
machines of tools/verdict_rates.py, which vary more from job to job than their rounds show. A recorded history consists
of jobs that measured one kernel repeatedly, in random order.
"""

import argparse
import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.findings.history.change_points import CHANGED, PERIOD_MIN, History, history
from gpu_engine.findings.history.records import HistoryPoint
from gpu_engine.records import Case, Measurement
from gpu_engine.studies.formats.experiment import ProductDetails
from tools.verdict_rates import MACHINES, Machine, measured, with_reference

RECORDED = Path(__file__).parents[1] / "tests/gpu_engine/repeated_jobs.json"
"""Jobs that repeated the same measurement: the fields of the time of each kernel, in seconds, job by job."""

TIMES = ("median_s", "ci_low_s", "ci_high_s", "min_s", "q1_s", "q3_s")
STEPS = (0.03, 0.05, 0.1)
LENGTHS = (6, 12, 30, 100)
POOL = 400
"""Jobs of a machine from which its histories are drawn."""

BETWEEN = {"quiet GPU": 0.003, "quiet CPU": 0.01, "GPU with a neighbor": 0.01, "CPU with a neighbor": 0.03}
"""Standard deviation of the logarithm of the time from job to job, by machine."""

SPIKES, SPIKE = 0.05, 1.5
"""Share of jobs on a loaded machine, and their maximum slowdown."""

Draw = Callable[[np.random.Generator, int], list[Measurement]]
"""Function that returns a history of a number of jobs without a change."""


def times_of(m: Measurement, factor: float) -> Measurement:
    """Return the measurement with all its times multiplied."""
    return dataclasses.replace(m, samples_s=(), **{name: getattr(m, name) * factor for name in TIMES})


@cache
def pool(machine: Machine) -> tuple[Measurement, ...]:
    """Return jobs of a machine, without the variation from job to job."""
    random = np.random.default_rng(7)
    return tuple(
        with_reference([measured(machine.device, entry) for entry in machine.rounds(random, (1.0, 1.0, 1.0))])[0]
        for _ in range(POOL)
    )


def simulated(machine: Machine) -> Draw:
    """Return the histories of a machine, with outliers."""

    def draw(random: np.random.Generator, length: int) -> list[Measurement]:
        spikes = np.where(random.random(length) < SPIKES, SPIKE ** random.random(length), 1.0)
        factors = np.exp(random.normal(0, BETWEEN[machine.name], length)) * spikes
        jobs = random.integers(POOL, size=length)
        return [times_of(pool(machine)[job], factor) for job, factor in zip(jobs, factors, strict=True)]

    return draw


def recorded() -> Iterator[tuple[str, Draw]]:
    """Yield by device the histories of a kernel that was measured repeatedly, drawn from its jobs."""
    for device, kernels in json.loads(RECORDED.read_text(encoding="utf-8")).items():
        jobs = [[_job(device, fields) for fields in job_fields] for job_fields in kernels.values()]

        yield f"{device}, recorded", partial(_random_history, jobs)


def _random_history(
    jobs: Sequence[Sequence[Measurement]], random: np.random.Generator, length: int
) -> list[Measurement]:
    kernel_jobs = jobs[int(random.integers(len(jobs)))]
    return [kernel_jobs[int(index)] for index in random.integers(len(kernel_jobs), size=length)]


def _job(device: str, fields: dict[str, Any]) -> Measurement:
    return Measurement.of(Case("m", "csr/vector", "warm"), device, ProductDetails, **fields)


def stepped(jobs: Sequence[Measurement], step: float, place: int) -> History:
    """Return the history of these jobs, one per day, whose times grow by `step` from a position on."""
    measurements = (times_of(m, 1 + step if number >= place else 1.0) for number, m in enumerate(jobs))
    return history([HistoryPoint(str(number), 86400.0 * number, m) for number, m in enumerate(measurements)])


def outcomes(draw: Draw, length: int, step: float, trials: int, seed: int = 0) -> Counter[str]:
    """Return the number of histories with the step found, a change point elsewhere, and one that is `inconclusive`.

    The step has at least PERIOD_MIN jobs on both sides. It counts as found at its job, or one job away.
    """
    random = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    for _ in range(trials):
        place = int(random.integers(PERIOD_MIN, length - PERIOD_MIN + 1))
        stepped_history = stepped(draw(random, length), step, place)
        ends = [
            sum(len(period.timeline) for period in stepped_history.periods[: number + 1])
            for number in range(len(stepped_history.points))
        ]
        kinds = [
            (abs(end - place) <= 1, point.verdict.kind) for end, point in zip(ends, stepped_history.points, strict=True)
        ]
        true = step > 0 and (True, "slower") in kinds
        counts["found"] += true
        counts["elsewhere"] += sum(kind in CHANGED for _, kind in kinds) > true
        counts["inconclusive"] += any(kind == "inconclusive" for _, kind in kinds)
    return counts


def _row(name: str, draw: Draw, length: int, trials: int, seed: int) -> str:
    """Return false change points without a step, the share of each step found, and the most found elsewhere."""
    none, *steps = (outcomes(draw, length, step, trials, seed) for step in (0.0, *STEPS))
    counts = (
        none["elsewhere"],
        *(counter["found"] for counter in steps),
        max(counter["elsewhere"] for counter in steps),
    )
    return f"| {name} | {length} | {' | '.join(f'{number / trials:.1%}' for number in counts)} |\n"


def main() -> int:
    """Print the table, a row per kind of history and length."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000, help="histories of each machine, length and step")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    heads = "history of", "jobs", "false", *(f"found of {step:.0%}" for step in STEPS), "elsewhere"
    sys.stdout.write(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}\n")
    machines = [(m.name, simulated(m)) for m in MACHINES if m.name in BETWEEN]
    for name, draw in (*machines, *recorded()):
        for length in LENGTHS:
            sys.stdout.write(_row(name, draw, length, arguments.trials, arguments.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
