"""Identical: measurements as the key of what is kept for them."""

from operator import is_

from gpu_engine.records import Measurement


class Identical(tuple[Measurement, ...]):
    """Measurements that are equal to these very ones alone: to compare their values takes as long as to rank them."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(tuple(map(id, self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identical) and len(self) == len(other) and all(map(is_, self, other))
