"""Explains the predicted time of a kernel in one sentence."""

from gpu_engine.advisor.model import Prediction
from gpu_engine.advisor.work import Features, Work
from gpu_engine.text import units

PADDING_MIN = 0.02
"""Share of padding below which the sentence calls it small."""


def reason(amount: Work, prediction: Prediction, features: Features) -> str:
    """Return a sentence on the bytes per nonzero and the largest part of the predicted time."""
    per_nonzero = amount.stored_bytes / features["nnz"]
    return f"Stores {per_nonzero:.3g} bytes per nonzero, {_padding(amount)}; {_limit(prediction, features)}."


def _padding(amount: Work) -> str:
    if amount.padding <= PADDING_MIN:
        return "no padding" if amount.padding <= 0.0 else "little padding"
    return f"{100 * amount.padding:.0f} % padding"


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
        "launch": "the launch takes most of the time, because the matrix is small",
        "stream": "streaming the matrix from memory takes most of the time",
        "gather": "fetching scattered elements of x takes most of the time, as in every format",
        "lanes": "instructions for rows and slots take most of the time",
        "longest": f"few threads process the longest row ({longest} nonzeros), while the others are idle",
    }[max(parts, key=lambda name: parts[name])]
