"""STUDIES: the one list of what can be measured; the queue, CLI, API and pages read it."""

from collections.abc import Sequence

from gpu_engine.errors import ParameterError, quote
from gpu_engine.studies.base import Study
from gpu_engine.studies.batched import BatchedStudy
from gpu_engine.studies.formats import FormatsStudy
from gpu_engine.studies.pagerank import PagerankStudy
from gpu_engine.studies.scaling import ScalingStudy

STUDIES: tuple[Study, ...] = (FormatsStudy(), PagerankStudy(), BatchedStudy(), ScalingStudy())


def study(name: str, studies: Sequence[Study] = STUDIES) -> Study:
    """The study of that name; raises ParameterError naming the known ones."""
    for candidate in studies:
        if candidate.name == name:
            return candidate
    known = ", ".join(candidate.name for candidate in studies)
    raise ParameterError(f"There is no study {quote(name)}; known studies: {known}.")
