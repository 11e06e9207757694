"""Checks of `sparsight doctor` for files that other users of the host can change."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from gpu_engine.host import caches
from gpu_engine.host.private_files import explain, exposures_above
from server import custom_kernels
from server.private_folders import PREFIX, home_exposures, home_refusal, named_exposures
from server.settings import Settings
from sparsight.doctor_check import Check

NAME = "Other users"


def examine_privacy(settings: Settings) -> Iterator[Check]:
    """Yield one check per path that other users can change, or one `ok` if there is none."""
    checks = [*_check_home(settings.home), *_check_settings(settings), *_check_custom_kernels(settings)]
    checks += _check_temporary_folder()
    yield from checks or [Check(NAME, "ok", "cannot change files that the service loads")]


def _check_home(home: Path) -> Iterator[Check]:
    """Check the caches and the data directory."""
    for cache in caches.emptied:
        advice = "Sparsight has just emptied it; there is nothing to do."
        yield Check(NAME, "warn", f"could write to the cache {cache}", advice)
    try:
        if not home.exists():
            return
        exposures, refusal = "; ".join(home_exposures(home)), home_refusal(home)
    except OSError as error:
        yield Check(NAME, "fail", f"{home} cannot be read: {error.strerror}", "Run this as the user of the service.")
        return
    if refusal:
        yield _failed_check(refusal)
    elif exposures:
        yield Check(NAME, "warn", exposures, "The next start of the service removes this access.")


def _check_settings(settings: Settings) -> Iterator[Check]:
    """Check paths outside the data directory that settings name; an exposed one prevents a start."""
    for variable, exposure in named_exposures(settings):
        yield Check(NAME, "fail", f"{variable}: {exposure.sentence}", f"Run `{exposure.command}`.")


def _check_custom_kernels(settings: Settings) -> Iterator[Check]:
    folder = custom_kernels.folder_of(settings)
    if folder and (refusal := custom_kernels.refusal(folder)):
        yield _failed_check(refusal)


def _check_temporary_folder() -> Iterator[Check]:
    """Check that other users cannot replace the temporary folder of a worker."""
    for exposure in exposures_above(Path(tempfile.gettempdir()) / PREFIX):
        yield _failed_check(explain(exposure))


def _failed_check(message: str) -> Check:
    """Return a failed check made from a message: the state, then the advice."""
    state, _, advice = message.partition(". ")
    return Check(NAME, "fail", state, advice)
