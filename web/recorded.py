"""Summary of the reference results of the `formats` study, computed once per file, because a file never changes."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.advisor.gpus import FITTED, gpu_named
from gpu_engine.findings.formats import findings
from server import recorded_results
from server.models import RecordingRow
from web import headline
from web.device_labels import short
from web.results import device_names, results_of
from web.selection import Selection
from web.single_flight import SingleFlightCache
from web.studies.answers.formats_settings import settings
from web.studies.formats import FORMATS


@dataclass(frozen=True, slots=True)
class ReferenceSummary:
    """Summary of the reference results of a device.

    version     changes with the file
    device      id of the device; name: its short name
    comparison  Sparsight and cuSPARSE, matrix by matrix
    leaders     matrix id → fastest kernel with a warm cache; matrices without a clear winner are left out
    """

    version: str
    device: str
    name: str
    comparison: headline.Comparison
    leaders: Mapping[str, str]


SUMMARIES_MAX = 8
"""Number of summaries that are cached, one per device."""

_made: SingleFlightCache[ReferenceSummary] = SingleFlightCache(SUMMARIES_MAX)


def reference_devices(session: Session) -> list[str]:
    """Return the devices with reference results of the study, that of the performance model first."""
    names = device_names(session)
    return sorted(
        recorded_results.device_ids(session, FORMATS.name), key=lambda device: gpu_named(names[device]) != FITTED
    )


def recorded_formats(session: Session, chosen: str = "") -> ReferenceSummary | None:
    """Return the summary for a device with reference results of the study, or for the first one; None without any."""
    devices = reference_devices(session)
    if not devices:
        return None
    device = chosen if chosen in devices else devices[0]
    query = select(RecordingRow.sha256).where(RecordingRow.device == device, RecordingRow.study == FORMATS.name)
    version = session.scalars(query).one()
    return _made.get(device, version, lambda: _read(session, device, version))


def _read(session: Session, device: str, version: str) -> ReferenceSummary:
    results = results_of(session, FORMATS.name, Selection(device=(device,)))
    setting = next(settings(results), None)
    return ReferenceSummary(
        version[:12],
        device,
        short(device_names(session)[device]),
        headline.compare(setting.choices, results.data) if setting else headline.Comparison(()),
        {finding.matrix_id: finding.leaders[0] for finding in findings(results.data) if finding.leaders},
    )
