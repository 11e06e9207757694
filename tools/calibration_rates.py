"""Print the benefit of calibrating the advisor: `python -m tools.calibration_rates [RECORDING] [--trials 12]`.

In each trial, random matrices of a GPU recording train the calibration, and the others evaluate it. The times of each
kernel are multiplied by a factor, as on a GPU that differs from the one of the fitted costs. The table has the share of
predicted kernels within 10 % of the fastest, without and with calibration.
"""

import argparse
import dataclasses
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from tabulate import tabulate

from gpu_engine.advisor.evaluation import calibrate, evaluate
from gpu_engine.advisor.model import MODELS
from gpu_engine.advisor.work import Features
from gpu_engine.findings.formats.groups import of_matrices
from gpu_engine.recordings import files as recordings
from gpu_engine.records import Measurement

SPREADS = (0.0, 0.1, 0.2)
"""Standard deviation of the logarithm of those factors."""

TEACHERS = (1, 3, 10, 30)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", nargs="?", type=Path, default=recordings.RECORDED / "h200" / "formats.json.gz")
    parser.add_argument("--trials", type=int, default=12)
    arguments = parser.parse_args()
    recording = recordings.read(arguments.recording)
    features = {matrix.id: matrix.features for matrix in recording.matrices}
    timed = [m for m in of_matrices(recording.measurements) if m.cache == "warm" and m.median_s and m.kernel in MODELS]
    rows = []
    for spread in SPREADS:
        for teachers in TEACHERS:
            shares = [trial(timed, features, spread, teachers, seed) for seed in range(arguments.trials)]
            rows.append((spread, teachers, *(f"{fmean(column):.1%}" for column in zip(*shares, strict=True))))
    heads = ("spread of factors", "training matrices", "not calibrated", "calibrated")
    sys.stdout.write(tabulate(rows, heads, tablefmt="github") + "\n")


def trial(
    timed: Sequence[Measurement], features: Mapping[str, Features], spread: float, teachers: int, seed: int
) -> tuple[float, float]:
    """Return the shares within 10 % without and with calibration, over the evaluation matrices."""
    chance = random.Random(seed)
    factors = {kernel: chance.lognormvariate(0.0, spread) for kernel in MODELS}
    falsified = [dataclasses.replace(m, median_s=(m.median_s or 0.0) * factors[m.kernel]) for m in timed]
    taught = set(chance.sample(sorted({m.matrix_id for m in timed}), teachers))
    learned = calibrate([m for m in falsified if m.matrix_id in taught], features)
    evaluated = [m for m in falsified if m.matrix_id not in taught]
    evaluations = (evaluate(evaluated, features, calibration=known) for known in (None, learned))
    without, calibrated = (each.share_within_10_percent for each in evaluations)
    return without, calibrated


if __name__ == "__main__":
    main()
