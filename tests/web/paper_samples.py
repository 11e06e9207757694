"""Measured matrices for the pages of papers."""

from typing import Any

import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate
from server import devices
from server.models import JobState
from tests.conftest import AddMatrix
from tests.samples.formats import study_of, timed
from tests.web.conftest import CPU, GPU, add_job, add_study
from web.papers import PAPERS

every_paper = pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)


def square(side: int) -> CsrMatrix:
    """A small square matrix, which every study takes."""
    return generate("stencil", {"points": 5, "nx": side, "ny": side})


@pytest.fixture
def measured(database: Any, add_matrix: AddMatrix) -> Any:
    """Two matrices measured on two devices, one of them in ELLR and PELLR."""
    devices.register(database, [CPU, GPU])
    names = [add_matrix(square(4), "memplus", "m1"), add_matrix(square(5), "fem3", "m2")]
    add_study(database, "formats", "j1", names)
    pair = [
        timed(kernel, s, matrix="m1", device="cuda:0") for kernel, s in (("ellr/thread", 3e-3), ("pellr/thread", 2e-3))
    ]
    add_job(database, "j2", "cuda:0", JobState.SUCCEEDED, [*study_of("m1", "cuda:0"), *pair])
    return database
