"""Outage: a database that does not answer is logged when that begins, once a minute, and when it ends."""

import logging
import time

AGAIN_S = 60.0
"""Seconds between two lines of one outage: what tries again every 0.15 s would fill a disk."""


class Outage:
    """Logs what fails again and again as one outage; threads may share it."""

    def __init__(self, log: logging.Logger, text: str) -> None:
        """text  what does not answer, a sentence without its full stop"""
        self._log, self._text = log, text
        self._since = self._logged_at = 0.0
        self._failures = 0

    def failed(self, error: Exception) -> None:
        """Note a failure."""
        now = time.monotonic()
        if not self._failures:
            self._since = now
        self._failures += 1
        if self._failures == 1 or now - self._logged_at >= AGAIN_S:
            self._logged_at = now
            self._log.warning("%s: %s", self._text, error)

    def succeeded(self) -> None:
        """Note that what failed goes through again."""
        failures, self._failures = self._failures, 0
        if failures > 1:
            self._log.warning("%s: that is over, after %.0f s", self._text, time.monotonic() - self._since)
