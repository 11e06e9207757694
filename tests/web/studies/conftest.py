"""Two matrices measured by a study, here and on a GPU."""

import pytest

from server import devices
from server.db import Database
from tests.conftest import AddMatrix
from tests.web.conftest import CPU, GPU, add_study, sample_matrix
from web.studies import PAGES
from web.studies.base import StudyPage


@pytest.fixture
def measured(page: StudyPage, database: Database, add_matrix: AddMatrix) -> StudyPage:
    """Two matrices: a job of the study on the CPU, j1, and a newer one on the GPU, j2; j0 of the study before it."""
    devices.register(database, [CPU, GPU])
    names = [add_matrix(sample_matrix(), "web_graph", "m1"), add_matrix(sample_matrix(), "fem3", "m2")]
    add_study(database, PAGES[PAGES.index(page) - 1].name, "j0", names)
    add_study(database, page.name, "j1", names)
    add_study(database, page.name, "j2", names, "cuda:0")
    return page
