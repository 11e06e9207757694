"""Rate limit per minute, counted in this process."""

import threading
import time
from collections import Counter

from gpu_engine.errors import LimitError

MINUTE_S = 60


class Rate:
    """Allows a maximum number of events per key and minute. Each minute starts at zero."""

    def __init__(self, most: int, sentence: str) -> None:
        """Create it.

        most      maximum per minute; 0: unlimited
        sentence  message of the error for further events
        """
        self.most = most
        self._sentence = sentence
        self._counts: Counter[str] = Counter()
        self._minute = 0
        self._lock = threading.Lock()

    def is_full(self, key: str) -> bool:
        """Return whether this key has reached the limit."""
        with self._lock:
            self._turn()
            return 0 < self.most <= self._counts[key]

    def take(self, key: str) -> None:
        """Count one event. Raises LimitError if it exceeds the limit."""
        if not self.most:
            return
        with self._lock:
            left_s = self._turn()
            if self._counts[key] >= self.most:
                raise LimitError(self._sentence, retry_after_s=left_s)
            self._counts[key] += 1

    def _turn(self) -> float:
        """Reset the counts after each minute, and return the seconds left in this one."""
        minute, passed_s = divmod(time.monotonic(), MINUTE_S)
        if minute != self._minute:
            self._minute = int(minute)
            self._counts.clear()
        return MINUTE_S - passed_s
