"""The order of matrices in a heatmap and in tables of kernels by matrices: by what is known of them, or by a column."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from gpu_engine.errors import ParameterError, quote
from gpu_engine.findings.data import MatrixFeatures

KEYS: Mapping[str, str] = {"sigma": "σ", "nnz": "nnz", "ave": "mean row length", "best": "gain over baseline"}
"""What matrices are sorted by beside a kernel, in words; `best`: what the fastest kernel gains on the baseline."""

Item = TypeVar("Item")


def check(sort: str) -> str:
    """The same; raises ParameterError where it is neither one of KEYS nor a kernel, with or without a minus."""
    key = sort.removeprefix("-")
    if key not in KEYS and "/" not in key:
        known = ", ".join(KEYS)
        raise ParameterError(f"sort is {quote(sort)}; it must be one of {known}, or a kernel (-{key}: descending).")
    return sort


def arranged(items: Iterable[Item], sort: str, value: Callable[[Item, str], float | None]) -> list[Item]:
    """The items by ascending value, with a minus before the key of `sort` descending; those without a value last.

    value  of an item by a key of KEYS or a kernel; equal ones stay in their order
    """
    key, every = sort.removeprefix("-"), list(items)
    values = [value(item, key) for item in every]
    known = [(number, item) for item, number in zip(every, values, strict=True) if number is not None]
    known.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))
    lacking = [item for item, number in zip(every, values, strict=True) if number is None]
    return [*(item for _, item in known), *lacking]


def feature(matrix: MatrixFeatures, key: str) -> float | None:
    """What is known of a matrix under a key of KEYS; None where it is nothing."""
    found = {"sigma": matrix.sigma, "nnz": matrix.nnz or None, "ave": matrix.ave}
    return found.get(key)


def in_words(sort: str) -> str:
    """`ascending σ`; of a kernel `descending time over the fastest of csr/vector`."""
    key = sort.removeprefix("-")
    return (
        f"{'descending' if sort.startswith('-') else 'ascending'} {KEYS.get(key) or f'time over the fastest of {key}'}"
    )
