"""STUDIES: the list of all studies; the queue, CLI, API and pages read it."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpu_engine.former_names import PRESENT
from gpu_engine.parameters import find_by_name
from gpu_engine.records import Details, Measurement, measurement_from_json
from gpu_engine.studies.base import Study
from gpu_engine.studies.batched import BatchedStudy
from gpu_engine.studies.formats import FormatsStudy
from gpu_engine.studies.pagerank import PagerankStudy
from gpu_engine.studies.reduced_spmv import ReducedSpmvStudy
from gpu_engine.studies.scaling import ScalingStudy
from gpu_engine.studies.seeded import SeededStudy
from gpu_engine.studies.solvers import SolversStudy
from gpu_engine.studies.spmm import SpmmStudy

STUDIES: tuple[Study, ...] = (
    FormatsStudy(),
    SpmmStudy(),
    SolversStudy(),
    PagerankStudy(),
    SeededStudy(),
    BatchedStudy(),
    ScalingStudy(),
    ReducedSpmvStudy(),
)


def study(name: str, studies: Sequence[Study] = ()) -> Study:
    """Return the study with that name, from STUDIES unless others are given; raise ParameterError if it is unknown."""
    return find_by_name("study", PRESENT.study(name), {s.name: s for s in studies or STUDIES}, "known studies")


def parse_measurement(fields: Mapping[str, Any]) -> Measurement:
    """Return the measurement of a JSON record; for an unknown study it has only the fields common to all studies."""
    known = {candidate.name: candidate.details for candidate in STUDIES}
    return measurement_from_json(fields, known.get(fields["study"], Details))
