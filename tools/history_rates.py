"""How often change points are wrong: histories of known noise, and of recorded jobs, with a step of known size or none.

`python -m tools.history_rates` prints the table of docs/measuring.md. The jobs of a simulated history are those of the
machines of tools/verdict_rates.py, which from job to job differ by more than their rounds show. A recorded history is
made of jobs that measured one kernel again and again, in an order drawn anew.
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
from gpu_engine.findings.history.records import Taken
from gpu_engine.records import Case, Measurement
from gpu_engine.studies.formats.experiment import ProductDetails
from tools.verdict_rates import MACHINES, Machine, measured, with_reference

RECORDED = Path(__file__).parents[1] / "tests/gpu_engine/repeated_jobs.json"
"""Of jobs that measured the same again: the fields of the time of each kernel, in seconds, job after job."""

TIMES = ("median_s", "ci_low_s", "ci_high_s", "min_s", "q1_s", "q3_s")
STEPS = (0.03, 0.05, 0.1)
LENGTHS = (6, 12, 30, 100)
POOL = 400
"""Jobs of a machine, of which its histories are drawn."""

BETWEEN = {"quiet GPU": 0.003, "quiet CPU": 0.01, "GPU with a neighbour": 0.01, "CPU with a neighbour": 0.03}
"""Standard deviation of the logarithm of a job's time from job to job, by machine."""

SPIKES, SPIKE = 0.05, 1.5
"""Share of jobs during which somebody else works throughout, and how many times as long their times are at most."""

Draw = Callable[[np.random.Generator, int], list[Measurement]]
"""A history of so many jobs in which nothing changed."""


def times_of(m: Measurement, factor: float) -> Measurement:
    """The same with all its times multiplied."""
    return dataclasses.replace(m, samples_s=(), **{name: getattr(m, name) * factor for name in TIMES})


@cache
def pool(machine: Machine) -> tuple[Measurement, ...]:
    """Jobs of a machine, without what they differ by from job to job."""
    random = np.random.default_rng(7)
    return tuple(
        with_reference([measured(machine.device, entry) for entry in machine.rounds(random, (1.0, 1.0, 1.0))])[0]
        for _ in range(POOL)
    )


def simulated(machine: Machine) -> Draw:
    """Histories of a machine, with spikes."""

    def draw(random: np.random.Generator, length: int) -> list[Measurement]:
        spikes = np.where(random.random(length) < SPIKES, SPIKE ** random.random(length), 1.0)
        factors = np.exp(random.normal(0, BETWEEN[machine.name], length)) * spikes
        jobs = random.integers(POOL, size=length)
        return [times_of(pool(machine)[job], factor) for job, factor in zip(jobs, factors, strict=True)]

    return draw


def recorded() -> Iterator[tuple[str, Draw]]:
    """By device, histories of a kernel that was measured again and again, drawn from its jobs."""
    for device, kernels in json.loads(RECORDED.read_text(encoding="utf-8")).items():
        jobs = [[_job(device, fields) for fields in own] for own in kernels.values()]

        yield f"{device}, recorded", partial(_drawn, jobs)


def _drawn(jobs: Sequence[Sequence[Measurement]], random: np.random.Generator, length: int) -> list[Measurement]:
    own = jobs[int(random.integers(len(jobs)))]
    return [own[int(place)] for place in random.integers(len(own), size=length)]


def _job(device: str, fields: dict[str, Any]) -> Measurement:
    return Measurement.of(Case("m", "csr/vector", "warm"), device, ProductDetails, **fields)


def stepped(jobs: Sequence[Measurement], step: float, place: int) -> History:
    """The history of these jobs, one a day, which take longer by `step` from a place on."""
    taken = (times_of(m, 1 + step if number >= place else 1.0) for number, m in enumerate(jobs))
    return history([Taken(str(number), 86400.0 * number, m) for number, m in enumerate(taken)])


def outcomes(draw: Draw, length: int, step: float, trials: int, seed: int = 0) -> Counter[str]:
    """How many histories have the step where it is, a change point elsewhere, and one that may be: `inconclusive`.

    The step is anywhere that leaves PERIOD_MIN jobs on both sides; it is found where it is put, or one job beside.
    """
    random = np.random.default_rng(seed)
    said: Counter[str] = Counter()
    for _ in range(trials):
        place = int(random.integers(PERIOD_MIN, length - PERIOD_MIN + 1))
        found = stepped(draw(random, length), step, place)
        ends = [sum(len(period.taken) for period in found.periods[: number + 1]) for number in range(len(found.points))]
        kinds = [(abs(end - place) <= 1, point.verdict.kind) for end, point in zip(ends, found.points, strict=True)]
        true = step > 0 and (True, "slower") in kinds
        said["found"] += true
        said["elsewhere"] += sum(kind in CHANGED for _, kind in kinds) > true
        said["inconclusive"] += any(kind == "inconclusive" for _, kind in kinds)
    return said


def _row(name: str, draw: Draw, length: int, trials: int, seed: int) -> str:
    """What is false where nothing changed; what is found of each step; the most that is found elsewhere then."""
    none, *steps = (outcomes(draw, length, step, trials, seed) for step in (0.0, *STEPS))
    counts = (none["elsewhere"], *(said["found"] for said in steps), max(said["elsewhere"] for said in steps))
    return f"| {name} | {length} | {' | '.join(f'{number / trials:.1%}' for number in counts)} |\n"


def main() -> int:
    """Prints the table, a row a kind of history and length."""
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
