"""All timing: stopwatches for a CPU and a GPU, interleaved rounds, and their statistics."""

from gpu_engine.measure.bench import Bench, Entry, Rounds, Timed, Timing, open_bench
from gpu_engine.measure.placements import Placement

__all__ = ["Bench", "Entry", "Placement", "Rounds", "Timed", "Timing", "open_bench"]
