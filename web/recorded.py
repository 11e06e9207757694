"""Summary of the reference results of the `formats` study, computed once per file, because a file never changes."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.findings.formats import findings
from server import recorded_results
from server.models import RecordingRow
from web.figures import home_chart
from web.results import device_names, results_of
from web.selection import Selection
from web.single_flight import SingleFlightCache
from web.studies.formats import FORMATS


@dataclass(frozen=True, slots=True)
class ReferenceSummary:
    """Summary of the reference results of a device.

    version  changes with the file
    device   id of the device; name: its name
    leaders  matrix id → fastest kernel with a warm cache; matrices without a clear winner are left out
    """

    version: str
    device: str
    name: str
    info: home_chart.Info
    leaders: Mapping[str, str]


_made: SingleFlightCache[ReferenceSummary] = SingleFlightCache(1)


def recorded_formats(session: Session) -> ReferenceSummary | None:
    """Return the summary for the first device with reference results of the study; None if there is none."""
    devices = recorded_results.device_ids(session, FORMATS.name)
    if not devices:
        return None
    query = select(RecordingRow.sha256).where(RecordingRow.device == devices[0], RecordingRow.study == FORMATS.name)
    version = session.scalars(query).one()
    return _made.get(devices[0], version, lambda: _read(session, devices[0], version))


def _read(session: Session, device: str, version: str) -> ReferenceSummary:
    results = results_of(session, FORMATS.name, Selection(device=(device,)))
    return ReferenceSummary(
        version[:12],
        device,
        device_names(session)[device],
        home_chart.info(results.data),
        {finding.matrix_id: finding.leaders[0] for finding in findings(results.data) if finding.leaders},
    )
