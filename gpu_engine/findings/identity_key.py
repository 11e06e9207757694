"""Identity keys: measurements as the key of a cache."""

from operator import is_

from gpu_engine.records import Measurement


class Identical(tuple[Measurement, ...]):
    """Measurements compared by identity, not by value: comparing values takes as long as ranking them."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(tuple(map(id, self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identical) and len(self) == len(other) and all(map(is_, self, other))
