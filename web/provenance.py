"""Where shown results come from: devices by name, drivers, kernels, and when they were measured."""

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
    """What stands below pictures and in reports.

    devices      names of what was measured on; measured: dates, the oldest and the newest
    environment  driver, versions and the like: (name, values); kernels: (name, hash of its source)
    """

    devices: tuple[str, ...]
    measured: str
    environment: tuple[tuple[str, str], ...]
    kernels: tuple[tuple[str, str], ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """As a picture says it."""
        measured = f", measured {self.measured}" if self.measured else ""
        return (f"{', '.join(self.devices)}{measured}",) if self.devices else ()


SOURCE = "source"
"""Of an environment: the hash of the kernel's source."""


def provenance_of(session: Session, results: Results) -> Provenance:
    """Of the measurements shown."""
    devices = tuple(dict.fromkeys(results.device_id(m.device) for m in results.measurements))
    names = _names(session)
    return Provenance(
        tuple(names.get(device, device) for device in devices),
        _dates(session, results, devices),
        environment_of(results.measurements),
        sources_of(results.measurements),
    )


def environment_of(measurements: Sequence[Measurement]) -> tuple[tuple[str, str], ...]:
    """Driver, versions, clocks and the like: (name, values)."""
    return (*_environment(measurements), *_clocks(measurements))


def sources_of(measurements: Sequence[Measurement]) -> tuple[tuple[str, str], ...]:
    """(kernel, hash of its source)."""
    return tuple(sorted({(m.kernel, m.environment[SOURCE]) for m in measurements if SOURCE in m.environment}))


def name_provenance(figure: go.Figure, title: str, lines: Sequence[str]) -> None:
    """Adds to `layout.meta` what a picture of the figure says above it."""
    figure.update_layout(meta={**(figure.layout.meta or {}), "provenance": {"title": title, "lines": list(lines)}})


def _names(session: Session) -> dict[str, str]:
    """Device id → its name; unlike in tables a processor has its own, beside what it is called there."""
    return {row.id: f"{row.info['name']} ({row.id})" for row in list_devices(session)} | device_names(session)


def _dates(session: Session, results: Results, devices: Sequence[str]) -> str:
    query = select(RecordingRow.created_at).where(RecordingRow.study == results.study, RecordingRow.device.in_(devices))
    times = [job.finished_at or job.created_at for job in results.jobs] + [at for at in session.scalars(query) if at]
    days = sorted({units.moment(time)[:10] for time in times})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""


def _environment(measurements: Iterable[Measurement]) -> tuple[tuple[str, str], ...]:
    """Every name of an environment that is of all kernels alike, with its values."""
    found: dict[str, dict[str, None]] = {}
    for m in measurements:
        for name, value in m.environment.items():
            found.setdefault(name, {})[value] = None
    return tuple((name, ", ".join(values)) for name, values in found.items() if name not in (SOURCE, "matrices"))


def _clocks(measurements: Iterable[Measurement]) -> tuple[tuple[str, str], ...]:
    """The clocks of the SMs, the lowest and the highest median; none on a CPU."""
    clocks = sorted(m.clock_hz for m in measurements if m.clock_hz)
    shown = dict.fromkeys(f"{clock / 1e9:.2f}{units.THIN}GHz" for clock in (clocks[0], clocks[-1])) if clocks else ()
    return (("clock of the SMs", " to ".join(shown)),) if shown else ()
