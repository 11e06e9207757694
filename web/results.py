"""Results of a selection, and the options for another one.

Addresses contain device ids; pages show device names.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from sqlalchemy.orm import Session

from gpu_engine.findings.data import MatrixFeatures, StudyData, op_of
from gpu_engine.findings.identity_key import Identical
from gpu_engine.records import Measurement
from gpu_engine.sampling.messages import STOPPED_BEFORE_START
from server import devices, matrix_sets, recorded_results, results
from server.models import JobRow
from server.result_sources import find_sources, read_measurements
from server.results import matrix_features
from web.device_labels import MEMORY, RECORDED, STORED_RECORDED, short
from web.selection import VALUES_MAX, Selection, choice_error

ADVICE = re.compile(r"\s(?:Install|Set)\s.*?\.(?=\s|$)")
"""Sentence of a note that says what to do."""

CACHE_DEFAULT = "warm"
"""Default cache state, as in the papers and in solvers."""


@dataclass(frozen=True)
class Results:
    """The results of a selection, and the options for another one.

    study             name of the study
    requested         selection in the address
    selection         selection with defaults for device, cache state, and matrices
    jobs              jobs of the measurements, one per matrix and device; reference results have none
    measurements      measurements of the selection
    features          matrix id → name, shape, and row lengths
    names             device id → name of the device, which the measurements have
    all_measurements  measurements of the selection for all kernels, operations, and reproducibility
    """

    study: str
    requested: Selection
    selection: Selection
    jobs: tuple[JobRow, ...]
    measurements: tuple[Measurement, ...]
    features: Mapping[str, MatrixFeatures]
    all_measurements: tuple[Measurement, ...]
    devices: tuple[str, ...]
    matrices: tuple[str, ...]
    names: Mapping[str, str]

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """All kernels with a record, chosen or not."""
        return tuple(dict.fromkeys(m.kernel for m in self.all_measurements))

    def device_id(self, name: str) -> str:
        """Return the id of the device with that name."""
        return next((device for device, known in self.names.items() if known == name), name)

    @cached_property
    def data(self) -> StudyData:
        """Data of the figures and findings of the study."""
        return self.data_of(self.measurements)

    def data_of(self, measurements: Sequence[Measurement]) -> StudyData:
        """Return the data of other measurements with the same features and settings."""
        chosen = self.selection
        baseline = chosen.baseline[0] if chosen.baseline else ""
        return StudyData(
            measurements,
            self.features,
            chosen.kernel,
            baseline,
            sort=chosen.sort[0] if chosen.sort else "",
            chosen=dict(chosen.study_values),
        )


def device_names(session: Session) -> dict[str, str]:
    """Return the names of all devices by id."""
    named = {row.id: devices.name_of(row) for row in devices.list_devices(session)}
    recorded = {row.id: str(row.info["name"]) for row in recorded_results.list_devices(session)}
    return named | {each: MEMORY.sub("", name.replace(STORED_RECORDED, RECORDED)) for each, name in recorded.items()}


def with_set(session: Session, selection: Selection) -> Selection:
    """Return the selection with the matrices of its saved selection; raises NotFoundError if that does not exist."""
    if not selection.set:
        return selection
    chosen = matrix_sets.get_set(session, selection.set[0])
    return replace(selection, matrix=matrix_sets.members(session, chosen))


def results_of(session: Session, study: str, selection: Selection, named: bool = True) -> Results:
    """Return the newest results of a study for a selection; raises NotFoundError for an unknown job.

    A selection without matrices means all matrices, up to the limit of an address. A case that a stopped job did not
    reach is no result.

    named  whether measurements have device names instead of device ids
    """
    known = find_sources(session, study, selection.job, selection.matrix, selection.device)
    _check_devices(session, selection.device, known.devices)
    matrices = selection.matrix or known.matrices[:VALUES_MAX]
    chosen = selection.with_(device=known.chosen, cache=selection.cache or CACHE_DEFAULT, matrix=matrices)
    jobs, measurements = read_measurements(session, study, known, matrices, chosen.cache)
    names = device_names(session) if named else {}
    reached = (m for m in measurements if m.note != STOPPED_BEFORE_START)
    all_measurements = tuple(_renamed(m, names) for m in reached)
    return Results(
        study,
        selection,
        chosen,
        jobs,
        tuple(m for m in all_measurements if _is_chosen(m, chosen)),
        matrix_features(session, (*known.matrices, *matrices)),
        all_measurements,
        known.devices,
        known.matrices,
        names,
    )


def _check_devices(session: Session, chosen: Sequence[str], offered: Sequence[str]) -> None:
    """Raise ParameterError for a device that this server does not know.

    One without results is not an error, nor is any device as long as the server knows none.
    """
    unknown = [device for device in chosen if device not in offered]
    if unknown:
        rows = (*devices.list_devices(session), *recorded_results.list_devices(session))
        names = device_names(session)
        known = {each: short(names.get(each, each)) for each in (*offered, *(row.id for row in rows))}
        for device in unknown:
            if known and device not in known:
                raise choice_error("device", device, known)


def with_traces(session: Session, selected: Results) -> StudyData:
    """Return the data of results with their traces, which are large and read only for the pages that need them."""
    keys = {(m.device, m.case) for m in selected.measurements}
    chosen = () if selected.selection.job else selected.selection.device
    recorded = recorded_results.traces(session, selected.study, selected.selection.matrix, chosen)
    traces = results.traces(session, selected.jobs) | recorded
    known = {(selected.names.get(device, device), case): trace for (device, case), trace in traces.items()}
    return replace(selected.data, traces={key: trace for key, trace in known.items() if key in keys})


def _renamed(m: Measurement, names: Mapping[str, str]) -> Measurement:
    return _on(Identical((m,)), names[m.device]) if m.device in names else m


@lru_cache(maxsize=results.CACHE_SIZE)
def _on(one: Identical, device: str) -> Measurement:
    """Return the measurement with a device name; equal arguments give the same object, the key of cached rankings.

    A note of a reference result keeps what happened, without what to do: nobody can measure it again there.
    """
    note = ADVICE.sub("", one[0].note) if device.endswith(RECORDED) else one[0].note
    return replace(one[0], device=device, note=note)


def _is_chosen(m: Measurement, chosen: Selection) -> bool:
    """Return whether the selection includes the kernel, operation, and reproducibility of a measurement."""
    return (
        (not chosen.kernel or m.kernel in chosen.kernel)
        and (not chosen.op or op_of(m) in chosen.op)
        and (not chosen.reproducible or m.details.is_reproducible is True)
    )
