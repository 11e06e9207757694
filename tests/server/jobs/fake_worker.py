"""A worker whose dispatchers know the fake study: `python -m tests.server.jobs.fake_worker`."""

import sys

from server.jobs.dispatcher import main
from server.jobs.worker import supervise
from tests.server.jobs.fake_study import CPU, FAKE

DISPATCH = "dispatch"

if __name__ == "__main__":
    if DISPATCH in sys.argv:
        sys.argv.remove(DISPATCH)
        sys.exit(main(FAKE, [CPU]))
    supervise((sys.executable, "-m", "tests.server.jobs.fake_worker", DISPATCH))
