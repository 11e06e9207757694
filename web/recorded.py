"""What recordings of the `formats` study say of all their matrices, computed once a recording: it never changes."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.findings.formats import findings
from server import recorded_results
from server.models import RecordingRow
from web.figures import headline
from web.results import device_names, results_of
from web.selection import Selection
from web.single_flight import SingleFlightCache
from web.studies.formats import FORMATS


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was recorded on a device.

    version  changes with the recording
    device   its id; name: of the device
    leaders  matrix id → the kernel that leads warm, of those whose machine was quiet
    """

    version: str
    device: str
    name: str
    info: headline.Info
    leaders: Mapping[str, str]


_made: SingleFlightCache[Recorded] = SingleFlightCache(1)


def recorded_formats(session: Session) -> Recorded | None:
    """What was recorded on the first device that has the study; None where nothing was."""
    devices = recorded_results.device_ids(session, FORMATS.name)
    if not devices:
        return None
    asked = select(RecordingRow.sha256).where(RecordingRow.device == devices[0], RecordingRow.study == FORMATS.name)
    version = session.scalars(asked).one()
    return _made.get(devices[0], version, lambda: _read(session, devices[0], version))


def _read(session: Session, device: str, version: str) -> Recorded:
    results = results_of(session, FORMATS.name, Selection(device=(device,)))
    return Recorded(
        version[:12],
        device,
        device_names(session)[device],
        headline.info(results.data),
        {finding.matrix_id: finding.leaders[0] for finding in findings(results.data) if finding.leaders},
    )
