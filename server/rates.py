"""Rate: how often something may happen in a minute, counted in this process."""

import threading
import time
from collections import Counter

from gpu_engine.errors import LimitError

MINUTE_S = 60


class Rate:
    """At most so many events of one key in each minute of the clock; whatever was counted goes with its minute."""

    def __init__(self, most: int, sentence: str) -> None:
        """most  0: any number; sentence  what is said to who has had them."""
        self.most = most
        self._sentence = sentence
        self._counts: Counter[str] = Counter()
        self._minute = 0
        self._lock = threading.Lock()

    def is_full(self, key: str) -> bool:
        """Whether this key has had as many as there may be."""
        with self._lock:
            self._turn()
            return 0 < self.most <= self._counts[key]

    def take(self, key: str) -> None:
        """Counts one event; raises LimitError where it is one too many."""
        if not self.most:
            return
        with self._lock:
            left_s = self._turn()
            if self._counts[key] >= self.most:
                raise LimitError(self._sentence, retry_after_s=left_s)
            self._counts[key] += 1

    def _turn(self) -> float:
        """Begins to count anew when the minute is over; returns how many seconds of it are left."""
        minute, passed_s = divmod(time.monotonic(), MINUTE_S)
        if minute != self._minute:
            self._minute = int(minute)
            self._counts.clear()
        return MINUTE_S - passed_s
