"""Provenance of results: devices, dates, drivers, and hashes of kernel sources."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.records import Measurement
from gpu_engine.text import units
from server.devices import list_devices
from server.models import RecordingRow
from web.results import Results, device_names

BIBTEX = """@misc{{sparsight,
  title = {{{{Sparsight: sparse matrix formats measured on GPUs}}}},
  howpublished = {{\\url{{{address}}}}},
  note = {{version {release}, results of {measured}}}
}}"""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of results, as reports and downloaded images show it.

    devices      names of the devices; measured: the oldest and the newest date
    environment  (name, values) of drivers, versions, and clocks; kernels: (name, hash of the source)
    """

    devices: tuple[str, ...]
    measured: str
    environment: tuple[tuple[str, str], ...]
    kernels: tuple[tuple[str, str], ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines for a downloaded image."""
        measured = f", measured {self.measured}" if self.measured else ""
        return (f"{', '.join(self.devices)}{measured}",) if self.devices else ()


SOURCE = "source"
"""Key of an environment: hash of the kernel source."""


def provenance_of(session: Session, results: Results) -> Provenance:
    """Return the provenance of the measurements of these results."""
    devices = tuple(dict.fromkeys(results.device_id(m.device) for m in results.measurements))
    names = _names(session)
    return Provenance(
        tuple(names.get(device, device) for device in devices),
        _dates(session, results, devices),
        environment_of(results.measurements),
        sources_of(results.measurements),
    )


def environment_of(measurements: Sequence[Measurement]) -> tuple[tuple[str, str], ...]:
    """Return (name, values) of drivers, versions, and clocks."""
    return (*_environment(measurements), *_clocks(measurements))


def sources_of(measurements: Sequence[Measurement]) -> tuple[tuple[str, str], ...]:
    """Return (kernel, hash of its source) of all kernels."""
    return tuple(sorted({(m.kernel, m.environment[SOURCE]) for m in measurements if SOURCE in m.environment}))


def name_provenance(figure: go.Figure, title: str, lines: Sequence[str]) -> None:
    """Add title and provenance lines of a downloaded image to `layout.meta`."""
    figure.update_layout(meta={**(figure.layout.meta or {}), "provenance": {"title": title, "lines": list(lines)}})


def _names(session: Session) -> dict[str, str]:
    """Return the names of devices by id; unlike in tables, a CPU has its model name."""
    return device_names(session) | {row.id: f"{row.info['name']} ({row.id})" for row in list_devices(session)}


def _dates(session: Session, results: Results, devices: Sequence[str]) -> str:
    query = select(RecordingRow.created_at).where(RecordingRow.study == results.study, RecordingRow.device.in_(devices))
    times = [job.finished_at or job.created_at for job in results.jobs] + [at for at in session.scalars(query) if at]
    days = sorted({units.moment(time)[:10] for time in times})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""


def _environment(measurements: Iterable[Measurement]) -> tuple[tuple[str, str], ...]:
    """Return all values of each environment entry that does not depend on the kernel."""
    values_by_name: dict[str, dict[str, None]] = {}
    for m in measurements:
        for name, value in m.environment.items():
            values_by_name.setdefault(name, {})[value] = None
    return tuple(
        (name, ", ".join(values)) for name, values in values_by_name.items() if name not in (SOURCE, "matrices")
    )


def _clocks(measurements: Iterable[Measurement]) -> tuple[tuple[str, str], ...]:
    """Return the lowest and the highest median SM clock; empty on a CPU."""
    clocks = sorted(m.clock_hz for m in measurements if m.clock_hz)
    clock_texts = (
        dict.fromkeys(f"{clock / 1e9:.2f}{units.THIN}GHz" for clock in (clocks[0], clocks[-1])) if clocks else ()
    )
    return (("clock of the SMs", " to ".join(clock_texts)),) if clock_texts else ()
