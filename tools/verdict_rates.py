"""How often the verdict is wrong: two kernels a known ratio apart, on machines of known noise and on recorded rounds.

`python -m tools.verdict_rates` prints the table of docs/measuring.md. Simulated are the four entries of a study that
decide: the reference kernel, its repeat, and two kernels. A recorded pair is one kernel with itself, the rounds of the
second one multiplied by the ratio.
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
"""Nanoseconds of the rounds of kernels that each entered the same rounds seven times."""

RATIOS = (1.0, 1.01, 1.03, 1.1)
ROUNDS = 15


@dataclass(frozen=True)
class Machine:
    """How the rounds of a kernel scatter.

    scatter  standard deviation of the logarithm of a round
    own      that of an entry as a whole: where its memory lies, which no round shows
    drift    that of a round for all entries alike
    burst    how many times as long a round takes while somebody else works; share of such rounds: `busy`
    """

    name: str
    device: str
    scatter: float
    own: float = 0.0
    drift: float = 0.0
    burst: float = 1.0
    busy: float = 0.0

    def rounds(self, random: np.random.Generator, ratios: Sequence[float], rounds: int = ROUNDS) -> NDArray[np.float64]:
        """Seconds of one entry a row, whose kernels take these ratios of a microsecond."""
        shape = len(ratios), rounds
        slow = np.where(random.random(shape) < self.busy, self.burst ** random.random(shape), 1.0)
        logarithms = (
            random.normal(0, self.scatter, shape)
            + random.normal(0, self.own, (shape[0], 1))
            + random.normal(0, self.drift, (1, rounds))
        )
        times: NDArray[np.float64] = 1e-6 * np.asarray(ratios)[:, None] * np.exp(logarithms) * slow
        return times


MACHINES = (
    Machine("quiet GPU", "cuda:0", scatter=0.003, own=0.001, drift=0.01),
    Machine("quiet CPU", "cpu", scatter=0.015, own=0.004, drift=0.03),
    Machine("GPU with a neighbour", "cuda:0", scatter=0.03, own=0.005, burst=2.0, busy=0.2),
    Machine("CPU with a neighbour", "cpu", scatter=0.05, own=0.01, burst=3.0, busy=0.3),
    Machine("overloaded CPU", "cpu", scatter=0.3, own=0.02, burst=1000.0, busy=0.5),
)


def measured(device: str, rounds: Iterable[float]) -> Measurement:
    """A record of a kernel with these rounds, in seconds."""
    fields = Timing(tuple(map(float, rounds)), None).fields()
    return Measurement.of(Case("m", "csr/vector", "warm"), device, ProductDetails, **fields)


def with_reference(entries: Sequence[Measurement]) -> list[Measurement]:
    """All but the first two, with the gap between these."""
    first, again, *others = entries
    gap = abs((again.median_s or 0.0) / (first.median_s or 1.0) - 1)
    return [dataclasses.replace(m, aa_gap=gap) for m in others]


def outcomes(machine: Machine, ratio: float, trials: int, seed: int = 0) -> Counter[str]:
    """What the verdict said of a kernel that takes `ratio` times as long, and how often the machine was called busy."""
    random = np.random.default_rng(seed)
    said: Counter[str] = Counter()
    for _ in range(trials):
        rounds = machine.rounds(random, (1.0, 1.0, 1.0, ratio))
        pair = with_reference([measured(machine.device, entry) for entry in rounds])
        said[compare(*pair).kind] += 1
        said["busy"] += bool(noise(pair))
    return said


def recorded_outcomes(device: str, ratio: float) -> Counter[str]:
    """The same of recorded pairs: every two entries of one kernel, the second one slowed down."""
    said: Counter[str] = Counter()
    for name, entries in json.loads(RECORDED.read_text(encoding="utf-8")).items():
        if name.partition(" ")[0] == device:
            for pair in recorded_pairs(device, entries, ratio):
                said[compare(*pair).kind] += 1
                said["busy"] += bool(noise(pair))
    return said


def recorded_pairs(device: str, entries: list[list[int]], ratio: float) -> Iterator[list[Measurement]]:
    """Every two of a kernel's entries but its first two, which are the reference; the second one slowed down."""
    kept = with_reference([measured(device, np.asarray(rounds) * 1e-9) for rounds in entries])
    gap = kept[0].aa_gap
    slowed = [measured(device, np.asarray(m.samples_s) * ratio) for m in kept]
    for i, j in permutations(range(len(kept)), 2):
        yield [kept[i], dataclasses.replace(slowed[j], aa_gap=gap)]


def _row(name: str, ratio: float, said: Counter[str]) -> str:
    pairs = said.total() - said["busy"]
    shares = (f"{said[word] / pairs:7.2%}" for word in ("same", "slower", "faster", "inconclusive", "busy"))
    return f"| {name} | {ratio - 1:.0%} | {pairs} | {' | '.join(shares)} |"


def main() -> int:
    """Prints the table; a kernel that takes longer is `slower`: `faster` is wrong, and so is either at 0 %."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000, help="pairs of each machine and ratio")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    heads = ("rounds of", "apart", "pairs", "same", "slower", "faster", "inconclusive", "called busy")
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for machine in MACHINES:
        lines += [_row(machine.name, r, outcomes(machine, r, arguments.trials, arguments.seed)) for r in RATIOS]
    for device in ("cpu", "cuda:0"):
        lines += [_row(f"{device}, recorded", r, recorded_outcomes(device, r)) for r in RATIOS]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
