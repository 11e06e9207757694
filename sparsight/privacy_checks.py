"""The checks of `sparsight doctor` that look for what other users of the host can change for the service."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from gpu_engine.host import caches
from gpu_engine.host.private_files import explain, exposures_above
from server import custom_kernels
from server.folders import PREFIX, home_exposures, home_refusal, named_exposures
from server.settings import Settings
from sparsight.checks import Check

NAME = "Other users"


def examine_privacy(settings: Settings) -> Iterator[Check]:
    """One check for each way in which another user could change what is loaded; one that is ok where there is none."""
    checks = [*_home(settings.home), *_named(settings), *_custom_kernels(settings), *_temporary()]
    yield from checks or [Check(NAME, "ok", "cannot change what the service loads")]


def _home(home: Path) -> Iterator[Check]:
    for cache in caches.emptied:
        yield Check(NAME, "warn", f"could write the cache {cache}", "It was emptied just now; there is nothing to do.")
    try:
        if not home.exists():
            return
        found, refused = "; ".join(home_exposures(home)), home_refusal(home)
    except OSError as error:
        yield Check(NAME, "fail", f"{home} cannot be read: {error.strerror}", "Run this as the user of the service.")
        return
    if refused:
        yield _split(refused)
    elif found:
        yield Check(NAME, "warn", found, "The next start of the service closes it.")


def _named(settings: Settings) -> Iterator[Check]:
    """What variables name outside the home: a start is refused there."""
    for variable, exposure in named_exposures(settings):
        yield Check(NAME, "fail", f"{variable}: {exposure.sentence}", f"Run `{exposure.command}`.")


def _custom_kernels(settings: Settings) -> Iterator[Check]:
    folder = custom_kernels.folder_of(settings)
    if folder and (refused := custom_kernels.refusal(folder)):
        yield _split(refused)


def _temporary() -> Iterator[Check]:
    """Whether others can replace the temporary folder of a worker."""
    for exposure in exposures_above(Path(tempfile.gettempdir()) / PREFIX):
        yield _split(explain(exposure))


def _split(message: str) -> Check:
    """A failed check from a sentence and what to do about it."""
    found, _, advice = message.partition(". ")
    return Check(NAME, "fail", found, advice)
