"""Outage log: log an unavailable database when an outage begins, once per minute, and when it ends."""

import logging
import time

AGAIN_S = 60.0
"""Seconds between two log lines of one outage. Retries every 0.15 s would otherwise fill the disk."""


class Outage:
    """Logs repeated failures as one outage. It is thread-safe."""

    def __init__(self, log: logging.Logger, text: str) -> None:
        """Create it.

        text  sentence about what is unavailable, without its final period
        """
        self._log, self._text = log, text
        self._since = self._logged_at = 0.0
        self._failures = 0

    def failed(self, error: Exception) -> None:
        """Record a failure."""
        now = time.monotonic()
        if not self._failures:
            self._since = now
        self._failures += 1
        if self._failures == 1 or now - self._logged_at >= AGAIN_S:
            self._logged_at = now
            self._log.warning("%s: %s", self._text, error)

    def succeeded(self) -> None:
        """Record that the operation works again."""
        failures, self._failures = self._failures, 0
        if failures > 1:
            self._log.warning("%s: recovered after %.0f s", self._text, time.monotonic() - self._since)
