"""The results that a selection shows, and what else it could show.

Addresses have the ids of devices, what is shown their names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from sqlalchemy.orm import Session

from gpu_engine.findings.data import MatrixFeatures, StudyData, op_of
from gpu_engine.findings.identical import Identical
from gpu_engine.records import Measurement
from server import devices, matrix_sets, recorded_results, results
from server.models import JobRow
from server.result_sources import find_sources, read_measurements
from server.results import matrix_features
from web.selection import VALUES_MAX, Selection

CACHE_DEFAULT = "warm"
"""As in the papers and in a solver."""


@dataclass(frozen=True)
class Results:
    """The results of a selection, and what else could be selected.

    study         whose results they are
    asked         the selection as the address says it
    selection     with the page's own choice of device, cache and matrices filled in
    jobs          the jobs behind the measurements, one per matrix and device; what was recorded has none
    measurements  of the selection
    features      matrix id → name, shape and row lengths
    names         device id → its name, which the measurements have instead
    every         measurements of the selection, whichever kernels, products and bits are chosen
    """

    study: str
    asked: Selection
    selection: Selection
    jobs: tuple[JobRow, ...]
    measurements: tuple[Measurement, ...]
    features: Mapping[str, MatrixFeatures]
    every: tuple[Measurement, ...]
    devices: tuple[str, ...]
    matrices: tuple[str, ...]
    names: Mapping[str, str]

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """That have a record here, whichever are chosen."""
        return tuple(dict.fromkeys(m.kernel for m in self.every))

    def device_id(self, name: str) -> str:
        """The id of the device that is shown under a name."""
        return next((device for device, known in self.names.items() if known == name), name)

    @cached_property
    def data(self) -> StudyData:
        """What the figures of the study are drawn from."""
        return self.data_of(self.measurements)

    def data_of(self, measurements: Sequence[Measurement]) -> StudyData:
        """The same of other measurements."""
        chosen = self.selection
        baseline = chosen.baseline[0] if chosen.baseline else ""
        return StudyData(
            measurements,
            self.features,
            chosen.kernel,
            baseline,
            sort=chosen.sort[0] if chosen.sort else "",
            chosen=dict(chosen.own),
        )


def device_names(session: Session) -> dict[str, str]:
    """Device id → what people call it: a GPU by its product, beside it whether it was recorded, or which one it is."""
    here = {row.id: row.info for row in devices.list_devices(session) if row.info["backend"] == "cuda"}
    named = {device: f"{info['name']} ({device})" for device, info in here.items()}
    return named | {row.id: str(row.info["name"]) for row in recorded_results.list_devices(session)}


def with_set(session: Session, selection: Selection) -> Selection:
    """The same selection with the matrices of its set, where it names one; raises NotFoundError for one that is not."""
    if not selection.set:
        return selection
    chosen = matrix_sets.get_set(session, selection.set[0])
    return replace(selection, matrix=matrix_sets.members(session, chosen))


def results_of(session: Session, study: str, selection: Selection, named: bool = True) -> Results:
    """The newest results of a study that fit the selection; raises NotFoundError for a job that does not exist.

    Where the selection names no matrix they are of all, as far as an address holds them.

    named  measurements have the names of their devices, as people read them; else their ids
    """
    known = find_sources(session, study, selection.job, selection.matrix, selection.device)
    matrices = selection.matrix or known.matrices[:VALUES_MAX]
    chosen = selection.with_(device=known.chosen, cache=selection.cache or CACHE_DEFAULT, matrix=matrices)
    jobs, measurements = read_measurements(session, study, known, matrices, chosen.cache)
    names = device_names(session) if named else {}
    every = tuple(_renamed(m, names) for m in measurements)
    return Results(
        study,
        selection,
        chosen,
        jobs,
        tuple(m for m in every if _is_chosen(m, chosen)),
        matrix_features(session, (*known.matrices, *matrices)),
        every,
        known.devices,
        known.matrices,
        names,
    )


def with_traces(session: Session, seen: Results) -> StudyData:
    """What is drawn of results that have traces, which are read for this alone: they are most of the bytes."""
    wanted = {(m.device, m.case) for m in seen.measurements}
    chosen = () if seen.selection.job else seen.selection.device
    recorded = recorded_results.traces(session, seen.study, seen.selection.matrix, chosen)
    traces = results.traces(session, seen.jobs) | recorded
    known = {(seen.names.get(device, device), case): trace for (device, case), trace in traces.items()}
    return replace(seen.data, traces={key: trace for key, trace in known.items() if key in wanted})


def _renamed(m: Measurement, names: Mapping[str, str]) -> Measurement:
    return _on(Identical((m,)), names[m.device]) if m.device in names else m


@lru_cache(maxsize=results.KEPT)
def _on(one: Identical, device: str) -> Measurement:
    """The same object for the same measurement, which rankings are kept for."""
    return replace(one[0], device=device)


def _is_chosen(m: Measurement, chosen: Selection) -> bool:
    """Whether the selection has its kernel, its product and its bits."""
    return (
        (not chosen.kernel or m.kernel in chosen.kernel)
        and (not chosen.op or op_of(m) in chosen.op)
        and (not chosen.reproducible or m.details.is_reproducible is True)
    )
