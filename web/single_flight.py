"""SingleFlightCache: expensive values, each computed by one thread while all others wait for it."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class SingleFlightCache(Generic[Value]):
    """The values requested last, each computed once per version, regardless of the number of waiting threads."""

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, Lock()
        self._values: OrderedDict[Hashable, tuple[Hashable, Future[Value]]] = OrderedDict()

    def get(self, key: Hashable, version: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of `make` for this version of the key; if it raises, the next request tries again."""
        made: Future[Value]
        with self._lock:
            known = self._values.get(key)
            # A request for another version does not wait.
            is_first = known is None or known[0] != version
            made = Future() if known is None or is_first else known[1]
            self._values[key] = version, made
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        if is_first:
            try:
                made.set_result(make())
            except BaseException as error:
                self._forget(key, made)
                made.set_exception(error)
        return made.result()

    def _forget(self, key: Hashable, made: Future[Value]) -> None:
        with self._lock:
            if key in self._values and self._values[key][1] is made:
                del self._values[key]
