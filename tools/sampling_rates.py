"""Costs and benefits of adaptive sampling, compared with all rounds.

`python -m tools.sampling_rates` prints the tables of docs/measuring.md: how often equal kernels get different verdicts,
on simulated machines and recorded rounds, and how many verdicts of recorded pairs change. `--samples FILE` uses real
rounds instead, from `python -m gpu_engine STUDY … --samples --json FILE`.
"""

import argparse
import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_engine.recordings.files import RECORDED, read
from gpu_engine.records import CPU, Measurement
from gpu_engine.sampling.stopping import CaseSamples, aa_gap, undecided_cases
from gpu_engine.studies import parse_measurement
from gpu_engine.verdicts.verdict import MIN_ROUNDS_FOR_VERDICT, compare
from tools.verdict_rates import MACHINES, Machine, measured
from tools.verdict_rates import RECORDED as IDENTICAL

ROUNDS = 25


@dataclass
class Tally:
    """Verdicts on pairs, and the number of rounds and their seconds.

    became  (verdict of all rounds, verdict of the adaptive rounds)
    """

    became: Counter[tuple[str, str]] = field(default_factory=Counter)
    first: Counter[tuple[str, str]] = field(default_factory=Counter)
    turns: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("all", "open"), 0.0))

    def add(self, other: "Tally") -> None:
        """Add another tally."""
        for target, source in ((self.became, other.became), (self.first, other.first)):
            target.update(source)
        self.turns.update(other.turns)
        for word, duration_s in other.seconds.items():
            self.seconds[word] += duration_s


@dataclass(frozen=True)
class Rivals:
    """Rounds of cases that are sampled together: float64 [rounds] by name; the first one is the control.

    again  the second entry of the control
    costs  seconds of a sample of each
    """

    device: str
    samples: Mapping[str, NDArray[np.float64]]
    again: NDArray[np.float64]
    costs: Mapping[str, float]

    def settled(self) -> dict[str, list[int]]:
        """Return the rounds in which each case took part."""
        backend = "cpu" if self.device == CPU else "cuda"
        reference, most = next(iter(self.samples)), self.again.size
        rounds_by_name = {name: list(range(MIN_ROUNDS_FOR_VERDICT)) for name in self.samples}
        again = list(range(MIN_ROUNDS_FOR_VERDICT))
        for number in range(MIN_ROUNDS_FOR_VERDICT, most):
            so_far = {
                name: CaseSamples(tuple(map(float, self.samples[name][rounds])), self.costs[name])
                for name, rounds in rounds_by_name.items()
            }
            undecided = undecided_cases(so_far, reference, tuple(self.again[again]), backend)
            if not undecided:
                break
            again.append(number)
            for name in {reference, *undecided}:
                rounds_by_name[name].append(number)
        return rounds_by_name

    def measured(self, rounds_by_name: Mapping[str, Sequence[int]]) -> dict[str, Measurement]:
        """Return the records of these rounds."""
        reference = next(iter(self.samples))
        rounds = rounds_by_name[reference]
        gap = aa_gap(self.samples[reference][rounds].tolist(), self.again[rounds].tolist())
        measurements = {
            name: measured(self.device, self.samples[name][case_rounds]) for name, case_rounds in rounds_by_name.items()
        }
        return {name: dataclasses.replace(m, aa_gap=gap) for name, m in measurements.items()}

    def tally(self) -> Tally:
        """Return the verdicts on every pair, by all rounds and by the adaptive ones."""
        tally, rounds_by_name = Tally(), self.settled()
        full = self.measured({name: range(self.again.size) for name in self.samples})
        few = self.measured(rounds_by_name)
        leader = min(full, key=lambda name: full[name].median_s or 0.0)
        for one, other in combinations(self.samples, 2):
            pair = compare(full[one], full[other]).kind, compare(few[one], few[other]).kind
            tally.became[pair] += 1
            tally.first[pair] += leader in (one, other)
        for name, rounds in rounds_by_name.items():
            for word, count in (("all", self.again.size), ("open", len(rounds))):
                tally.turns[word] += count
                tally.seconds[word] += self.costs[name] * count
        return tally


def simulated(machine: Machine, ratios: Sequence[float], random: np.random.Generator, rounds: int) -> Rivals:
    """Return kernels of these ratios on a machine; a sample takes the time of its kernel."""
    times = machine.rounds(random, (1.0, *ratios), rounds)
    names = [f"{number}:{ratio:g}" for number, ratio in enumerate(ratios)]
    return Rivals(
        machine.device, dict(zip(names, times[1:], strict=True)), times[0], dict(zip(names, ratios, strict=True))
    )


def equal_pairs(rivals: Rivals) -> Tally:
    """Return the verdicts on the equal pairs of a group: names with the same text after the colon."""
    rounds_by_name = rivals.settled()
    few, tally = rivals.measured(rounds_by_name), Tally()
    for one, other in combinations(rivals.samples, 2):
        if one.partition(":")[2] == other.partition(":")[2]:
            tally.became["same", compare(few[one], few[other]).kind] += 1
    return tally


RATIOS = (1.0, 1.0, 1.0, 1.3, 1.3, 1.3, 1.3, 30.0, 30.0, 30.0)


def of_machine(machine: Machine, trials: int, seed: int, rounds: int = ROUNDS) -> Tally:
    """Return the tally of groups of RATIOS on a machine."""
    random, tally = np.random.default_rng(seed), Tally()
    for _ in range(trials):
        tally.add(equal_pairs(simulated(machine, RATIOS, random, rounds)))
    return tally


def of_identical(device: str) -> Tally:
    """Return the tally of recorded rounds of one kernel that entered seven times: two as control, five as rivals."""
    tally = Tally()
    for name, entries in json.loads(IDENTICAL.read_text(encoding="utf-8")).items():
        if name.partition(" ")[0] != device:
            continue
        times = np.asarray(entries) * 1e-9
        for i in range(len(times)):
            rotated = np.roll(times, i, axis=0)
            names = [f"{n}:1" for n in range(len(rotated) - 1)]
            rivals = Rivals(device, dict(zip(names, rotated[1:], strict=True)), rotated[0], dict.fromkeys(names, 1.0))
            tally.add(equal_pairs(rivals))
    return tally


def random_rounds(m: Measurement, random: np.random.Generator, rounds: int) -> NDArray[np.float64]:
    """Return rounds with the scatter of a record, the longest beyond its third quartile."""
    low, q1, middle, q3 = (float(each or 0.0) for each in (m.min_s, m.q1_s, m.median_s, m.q3_s))
    ends = [low, q1, middle, q3, q3 * (q3 / low) ** 1.5]
    return np.asarray(np.interp(random.random(rounds), (0.0, 0.25, 0.5, 0.75, 1.0), ends))


def turn_s(m: Measurement) -> float:
    """Return the seconds of a sample: a few SpMVs, at least some milliseconds; for runs, one run."""
    call_s = m.median_s or 0.0
    if m.study in ("pagerank", "scaling"):
        return call_s + 1e-3
    return max(3e-3, 3 * call_s) + 1e-3 if m.cache == "warm" else 5 * (call_s + 1e-4) + 1e-3


def together(measurements: Iterable[Measurement]) -> Iterator[list[Measurement]]:
    """Yield records in the groups that were sampled together."""
    groups: dict[Any, list[Measurement]] = {}
    for m in measurements:
        if m.median_s and m.min_s and not m.kernel.endswith("/best"):
            axes = tuple(m.axes.items()) if m.study == "batched" else ()
            kind = m.kernel.partition("+")[2] if m.study == "formats" else ""
            kind = m.kernel.partition("/")[0] + m.axes.get("workload", "") if m.study == "scaling" else kind
            groups.setdefault((m.matrix_id, m.cache, axes, kind), []).append(m)
    yield from (group for group in groups.values() if len(group) > 1)


def of_recorded(path: Path, seed: int) -> Tally:
    """Return the tally of the cases of a recording, with random rounds."""
    random, tally = np.random.default_rng(seed), Tally()
    for group in together(read(path).measurements):
        samples = {m.case: random_rounds(m, random, ROUNDS) for m in group}
        gap = group[0].aa_gap if group[0].aa_gap is not None else 0.005
        again = random_rounds(group[0], random, ROUNDS) * (1 + random.choice((-1, 1)) * gap / 2)
        tally.add(Rivals(group[0].device, samples, again, {m.case: turn_s(m) for m in group}).tally())
    return tally


def of_samples(path: Path) -> Tally:
    """Return the tally of the rounds of a document; the second control entry is the first one, shifted and scaled."""
    tally = Tally()
    measurements = map(parse_measurement, json.loads(path.read_text(encoding="utf-8"))["measurements"])
    for group in together(measurements):
        samples = {m.case: np.asarray(m.samples_s) for m in group}
        again = np.roll(samples[group[0].case], 1) * (1 + (group[0].aa_gap or 0.0))
        tally.add(Rivals(group[0].device, samples, again, {m.case: turn_s(m) for m in group}).tally())
    return tally


def _equal_row(name: str, tally: Tally) -> str:
    pairs = tally.became.total()
    words = Counter[str]()
    for (_, word), count in tally.became.items():
        words[word] += count
    wrong = words["slower"] + words["faster"]
    return f"| {name} | {pairs} | {words['same'] / pairs:.2%} | {wrong} | {words['inconclusive'] / pairs:.2%} |"


def _row(name: str, tally: Tally) -> str:
    flips = sum(count for pair, count in tally.became.items() if set(pair) == {"faster", "slower"})
    shares = (_alike(tally.became), _alike(tally.first))
    costs = (tally.turns["open"] / tally.turns["all"], tally.seconds["open"] / tally.seconds["all"])
    same, first, turns, seconds = (f"{share:.1%}" for share in (*shares, *costs))
    return f"| {name} | {tally.became.total()} | {same} | {first} | {flips} | {turns} | {seconds} |"


def _alike(became: Counter[tuple[str, str]]) -> float:
    return sum(count for (one, other), count in became.items() if one == other) / became.total()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Print the requested tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=500, help="groups of ten kernels for each machine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--equal", action="store_true", help="print the verdicts on equally fast kernels")
    parser.add_argument("--samples", type=Path, nargs="*", default=(), help="documents with samples")
    parser.add_argument("--recorded", nargs="*", default=(), help="recordings, such as h200/formats.json.gz")
    arguments = parser.parse_args()
    if arguments.equal:
        _say("| rounds of | equal pairs | same | called different | inconclusive |\n|" + " --- |" * 5)
        for machine in MACHINES:
            _say(_equal_row(machine.name, of_machine(machine, arguments.trials, arguments.seed)))
        for device in ("cpu", "cuda:0"):
            _say(_equal_row(f"{device}, recorded", of_identical(device)))
    if arguments.samples or arguments.recorded:
        _say("| rounds | pairs | same verdict | with the fastest | opposite | turns | seconds |\n|" + " --- |" * 7)
    for path in arguments.samples:
        _say(_row(path.stem, of_samples(path)))
    for name in arguments.recorded:
        _say(_row(name, of_recorded(RECORDED / name, arguments.seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
