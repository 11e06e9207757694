"""The worker beside a server: one that ends is followed by another, after a pause that grows."""

import itertools
import sys
import threading

import pytest

from sparsight.worker_process import WorkerProcess

ENDED = (sys.executable, "-c", "raise SystemExit(3)")


class Pauses(threading.Event):
    """An event that nobody waits for; it is set by the last pause."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.lengths: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.lengths.append(timeout or 0.0)
        if len(self.lengths) == self.most:
            self.set()
        return True


@pytest.mark.parametrize(("lived_s", "lengths"), [(1.0, [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]), (61.0, [2.0] * 7)])
def test_a_worker_that_ends_is_started_again_and_again(
    lived_s: float, lengths: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    pauses = Pauses(most=7)
    times = itertools.count(0.0, lived_s)
    worker = WorkerProcess(ENDED, pauses, lambda: next(times))
    worker._supervise()
    assert pauses.lengths == lengths
    assert caplog.text.count("Worker exited with status 3; restarting") == 7
