"""Why a kernel is predicted to take its time, in one sentence."""

from gpu_engine.advisor.model import Prediction
from gpu_engine.advisor.work import Features, Work
from gpu_engine.text import units

PADDING_MIN = 0.02
"""Padding below this share is hardly any."""


def reason(counted: Work, prediction: Prediction, features: Features) -> str:
    """What is stored, and which part of the time is the largest."""
    per_nonzero = counted.stored_bytes / features["nnz"]
    return f"Stores {per_nonzero:.3g} bytes a nonzero, {_padding(counted)}; {_limit(prediction, features)}."


def _padding(counted: Work) -> str:
    if counted.padding <= PADDING_MIN:
        return "nothing padded" if counted.padding <= 0.0 else "hardly any padding"
    return f"{100 * counted.padding:.0f} % of its slots padding"


def _limit(prediction: Prediction, features: Features) -> str:
    parts = {
        "launch": prediction.launch_s,
        "stream": prediction.stream_s,
        "gather": prediction.gather_s,
        "lanes": prediction.lanes_s,
        "longest": prediction.longest_s,
    }
    longest = units.count(features["max"])
    return {
        "launch": "there is so little to do that its launch is the largest part of the time",
        "stream": "streaming that from memory is the largest part of the time",
        "gather": "fetching scattered elements of x is the largest part of the time, as in every format",
        "lanes": "its instructions for rows and slots are the largest part of the time",
        "longest": f"few threads walk the longest row, {longest} entries, while all others are done",
    }[max(parts, key=lambda name: parts[name])]
