"""Sorting of matrices in heat maps and kernel–matrix tables: by a feature or by a kernel."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from gpu_engine.errors import ParameterError, quote
from gpu_engine.findings.data import MatrixFeatures

KEYS: Mapping[str, str] = {"sigma": "σ", "nnz": "nnz", "ave": "mean row length", "best": "speedup over baseline"}
"""Sort key → its label; `best`: speedup of the fastest kernel over the baseline. A kernel is a sort key too."""

Item = TypeVar("Item")


def check(sort: str) -> str:
    """Return the sort key; raises ParameterError if it is neither one of KEYS nor a kernel, with or without a minus."""
    key = sort.removeprefix("-")
    if key not in KEYS and "/" not in key:
        known = ", ".join(KEYS)
        raise ParameterError(f"sort is {quote(sort)}. Choose one of {known}, or a kernel (-{key}: descending).")
    return sort


def arranged(items: Iterable[Item], sort: str, value: Callable[[Item, str], float | None]) -> list[Item]:
    """Return the items by ascending value, or descending if `sort` begins with a minus; items without a value last.

    value  function of an item and a sort key; items with equal values keep their order
    """
    key, every = sort.removeprefix("-"), list(items)
    values = [value(item, key) for item in every]
    known = [(number, item) for item, number in zip(every, values, strict=True) if number is not None]
    known.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))
    lacking = [item for item, number in zip(every, values, strict=True) if number is None]
    return [*(item for _, item in known), *lacking]


def feature(matrix: MatrixFeatures, key: str) -> float | None:
    """Return the feature of a matrix for a key of KEYS; None if it is unknown."""
    features = {"sigma": matrix.sigma, "nnz": matrix.nnz or None, "ave": matrix.ave}
    return features.get(key)


def in_words(sort: str) -> str:
    """Return the order as text: `ascending σ`, or `descending slowdown of csr/vector`."""
    key = sort.removeprefix("-")
    return f"{'descending' if sort.startswith('-') else 'ascending'} {KEYS.get(key) or f'slowdown of {key}'}"
