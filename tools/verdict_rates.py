"""Error rates of verdicts: two kernels with a known ratio, on machines of known noise and on recorded rounds.

`python -m tools.verdict_rates` prints the table of docs/measuring.md. The simulation has the four entries of a study
that decide: the control kernel, its repetition, and two kernels. A recorded pair is one kernel with itself, with the
rounds of the second multiplied by the ratio.
"""

import argparse
import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.measure import Timing
from gpu_engine.records import Case, Measurement
from gpu_engine.studies.formats.experiment import ProductDetails
from gpu_engine.verdicts.noise import noise
from gpu_engine.verdicts.verdict import compare

RECORDED = Path(__file__).parents[1] / "tests/gpu_engine/identical_kernels.json"
"""Nanoseconds of the rounds of a kernel in seven entries.

They are from the same rounds, on `cpu` and `cuda:0`. Those of PLACED are from seven processes, with a new place in
memory in each round: two of the control kernel, and five of another one.
"""

PLACED = "cuda:0/placed"

RECORDED_ON = ("cpu", "cuda:0", PLACED)

RATIOS = (1.0, 1.01, 1.03, 1.1)
ROUNDS = 15


@dataclass(frozen=True)
class Machine:
    """Scatter of the rounds of a kernel.

    scatter  standard deviation of the logarithm of a round
    entry    that of an entry as a whole, which no round shows: its place in memory, if it stays there
    control  that of the control kernel in a round, if it differs
    drift    that of a round for all entries alike
    burst    maximum slowdown of a round while other programs run; share of such rounds: `busy`
    """

    name: str
    device: str
    scatter: float
    entry: float = 0.0
    drift: float = 0.0
    burst: float = 1.0
    busy: float = 0.0
    control: float | None = None

    def rounds(self, random: np.random.Generator, ratios: Sequence[float], rounds: int = ROUNDS) -> NDArray[np.float64]:
        """Return seconds, one entry per row, whose kernels take these multiples of a microsecond."""
        shape = len(ratios), rounds
        slow = np.where(random.random(shape) < self.busy, self.burst ** random.random(shape), 1.0)
        logarithms = (
            random.normal(0, 1, shape) * self._scatters(shape[0])
            + random.normal(0, self.entry, (shape[0], 1)) * (np.arange(shape[0]) >= self._shared)[:, None]
            + random.normal(0, self.drift, (1, rounds))
        )
        times: NDArray[np.float64] = 1e-6 * np.asarray(ratios)[:, None] * np.exp(logarithms) * slow
        return times

    @property
    def _shared(self) -> int:
        """Number of entries that share their place, so that it cancels: both of the control kernel, or none."""
        return 0 if self.control is None else 2

    def _scatters(self, entries: int) -> NDArray[np.float64]:
        """Return the scatter of each entry, of which the first two are the control kernel: [entries, 1]."""
        scatters = np.full((entries, 1), self.scatter)
        if self.control is not None:
            scatters[:2] = self.control
        return scatters


MACHINES = (
    Machine("quiet GPU", "cuda:0", scatter=0.003, entry=0.001, drift=0.01),
    Machine("quiet CPU", "cpu", scatter=0.015, entry=0.004, drift=0.03),
    Machine("GPU with a neighbor", "cuda:0", scatter=0.03, entry=0.005, burst=2.0, busy=0.2),
    Machine("CPU with a neighbor", "cpu", scatter=0.05, entry=0.01, burst=3.0, busy=0.3),
    Machine("overloaded CPU", "cpu", scatter=0.3, entry=0.02, burst=1000.0, busy=0.5),
    Machine("GPU, place counts for 3 %", "cuda:0", scatter=0.03, control=0.003, entry=0.001),
    Machine("GPU, place counts for 10 %", "cuda:0", scatter=0.1, control=0.003, entry=0.001),
)

FIXED = Machine("the same at one place", "cuda:0", scatter=0.003, control=0.003, entry=0.1)
"""Machine on which each kernel stays at one place, so that no round shows how much its time depends on it."""


def measured(device: str, rounds: Iterable[float]) -> Measurement:
    """Return a record of a kernel with these rounds, in seconds."""
    fields = Timing(tuple(map(float, rounds)), None).fields()
    return Measurement.of(Case("m", "csr/vector", "warm"), device, ProductDetails, **fields)


def with_reference(entries: Sequence[Measurement]) -> list[Measurement]:
    """Return all but the first two measurements, with the A/A gap of these two."""
    first, again, *others = entries
    gap = abs((again.median_s or 0.0) / (first.median_s or 1.0) - 1)
    return [dataclasses.replace(m, aa_gap=gap) for m in others]


def outcomes(machine: Machine, ratio: float, trials: int, seed: int = 0) -> Counter[str]:
    """Return the verdicts on a kernel with a slowdown of `ratio`, and how often the machine was too noisy."""
    random = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    for _ in range(trials):
        rounds = machine.rounds(random, (1.0, 1.0, 1.0, ratio))
        pair = with_reference([measured(machine.device, entry) for entry in rounds])
        counts[compare(*pair).kind] += 1
        counts["busy"] += bool(noise(pair))
    return counts


def recorded_outcomes(device: str, ratio: float) -> Counter[str]:
    """Return the verdicts on recorded pairs: two entries of one kernel, the second slowed down."""
    counts: Counter[str] = Counter()
    for name, entries in json.loads(RECORDED.read_text(encoding="utf-8")).items():
        if name.partition(" ")[0] == device:
            for pair in recorded_pairs(device, entries, ratio):
                counts[compare(*pair).kind] += 1
                counts["busy"] += bool(noise(pair))
    return counts


def recorded_pairs(device: str, entries: list[list[int]], ratio: float) -> Iterator[list[Measurement]]:
    """Yield all pairs of entries of a kernel, except the first two (control); the second is slowed down."""
    entries_under_test = with_reference([measured(device, np.asarray(rounds) * 1e-9) for rounds in entries])
    gap = entries_under_test[0].aa_gap
    slowed = [measured(device, np.asarray(m.samples_s) * ratio) for m in entries_under_test]
    for i, j in permutations(range(len(entries_under_test)), 2):
        yield [entries_under_test[i], dataclasses.replace(slowed[j], aa_gap=gap)]


def _row(name: str, ratio: float, counts: Counter[str]) -> str:
    pairs = counts.total() - counts["busy"]
    shares = (f"{counts[word] / pairs:7.2%}" for word in ("same", "slower", "faster", "inconclusive", "busy"))
    return f"| {name} | {ratio - 1:.0%} | {pairs} | {' | '.join(shares)} |"


def main() -> int:
    """Print the table. A slower kernel must be `slower`: `faster` is wrong, and so are both at 0 %."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000, help="pairs of each machine and ratio")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    heads = ("rounds of", "apart", "pairs", "same", "slower", "faster", "inconclusive", "called busy")
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for machine in (*MACHINES, FIXED):
        lines += [_row(machine.name, r, outcomes(machine, r, arguments.trials, arguments.seed)) for r in RATIOS]
    for device in RECORDED_ON:
        lines += [_row(f"{device}, recorded", r, recorded_outcomes(device, r)) for r in RATIOS]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
