"""Compare the predictions of the advisor with recordings: `python -m gpu_engine.gpu_bench.advice --judge FILE…`."""

import argparse
import sys
from pathlib import Path

from gpu_engine.advisor.evaluation import Evaluation, calibrate, evaluate
from gpu_engine.advisor.gpus import FITTED, GPUS, Gpu
from gpu_engine.advisor.work import Features
from gpu_engine.errors import SparsightError
from gpu_engine.recordings import files as recordings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gpu_engine.gpu_bench.advice",
        description="Compare the predictions of the advisor with measurements.",
    )
    parser.add_argument(
        "--judge", nargs="+", required=True, type=Path, metavar="FILE", help="recordings to compare with"
    )
    parser.add_argument("--calibrate", type=Path, metavar="FILE", help="recording of the same device for calibration")
    return parser


def _gpu(device_name: str) -> Gpu:
    """Return the GPU model in the name of a device, or the fitted model for unknown GPUs."""
    return next((gpu for gpu in GPUS if gpu.name.split("-")[0] in device_name), FITTED)


def _features(recording: recordings.Recording) -> dict[str, Features]:
    return {matrix.id: matrix.features for matrix in recording.matrices}


def _text(evaluation: Evaluation) -> str:
    lines = [
        f"{v.regret:6.3f}  {v.matrix_id[:32]:32} {v.cache:4}  {v.advised:20} {v.advised_s * 1e6:9.2f} µs"
        f" (predicted {v.predicted_s * 1e6:9.2f})  fastest {v.fastest:20} {v.fastest_s * 1e6:9.2f} µs"
        for v in evaluation.outcomes
    ]
    parts = {"all": evaluation, "high confidence": evaluation.where(sure=True)}
    parts["low confidence"] = evaluation.where(sure=False)
    return "\n".join([*lines, *(_line(name, part) for name, part in parts.items() if part.outcomes)])


def _line(name: str, part: Evaluation) -> str:
    share, mean = part.share_within_10_percent, part.geometric_mean_regret
    return f"{name}: {len(part.outcomes)}, {share:.1%} within 10 % of the fastest, mean regret {mean:.3f}"


def main() -> int:
    """Run the command line; return the exit code: 0 compared, 2 invalid input."""
    arguments = _parser().parse_args()
    try:
        learned = recordings.read(arguments.calibrate) if arguments.calibrate else None
        compared = [recordings.read(path) for path in arguments.judge]
    except (SparsightError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    for recording in compared:
        gpu = _gpu(recording.device.name)
        calibration = calibrate(learned.measurements, _features(learned), gpu) if learned else None
        evaluation = evaluate(recording.measurements, _features(recording), gpu, calibration)
        sys.stdout.write(f"{recording.device.name}, predicted as {gpu.name}\n{_text(evaluation)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
