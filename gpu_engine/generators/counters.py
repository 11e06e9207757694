"""Counter-based random numbers: functions of seed, row, and counter, equal on the host and on a GPU.

SplitMix64 with one state per row; its 64-bit integers wrap equally everywhere.
Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
"""

from typing import Any

import numpy as np

GAMMA, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def row_states(seed: int, rows: Any, xp: Any) -> Any:
    """Return the state of each row, int64 [rows]: uint64 [rows]."""
    return draw(rows.astype(np.uint64), draw(xp.full(1, seed, np.uint64), np.uint64(0)))


def draw(counters: Any, states: Any) -> Any:
    """Return the random number of each counter, uint64, with its state: uint64."""
    mixed = (counters + np.uint64(1)) * np.uint64(GAMMA) + states
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(FIRST)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(SECOND)
    return mixed ^ (mixed >> np.uint64(31))
