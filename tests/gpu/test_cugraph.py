"""cuGraph itself, where it is installed: its ranks, and its cases in the rounds of the study."""

import numpy as np
import pytest

from gpu_engine.competitors.cugraph import CugraphRanks
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate
from gpu_engine.measure import open_bench
from gpu_engine.pagerank import PageRankParams, reference, transition_matrix, verify
from gpu_engine.records import DeviceInfo, MatrixInfo, Measurement
from gpu_engine.studies.pagerank import PagerankParams, PagerankStudy

PARAMS = PageRankParams()


@pytest.fixture(scope="module")
def web() -> CsrMatrix:
    """Dangling pages, pages without any link, and popular ones."""
    return generate("web", {"n": 50_000, "mean": 3.0, "seed": 3, "max_length": 3000})


@pytest.fixture(autouse=True)
def installed() -> None:
    pytest.importorskip("pylibcugraph")


def test_its_ranks_are_those_of_the_reference(web: CsrMatrix, gpu: DeviceInfo) -> None:
    graph = transition_matrix(web, PARAMS)
    with open_bench(gpu):
        ranks = CugraphRanks(graph, PARAMS)
        p, converged = ranks.ranks(PARAMS.epsilon, 1000)
        iterations = ranks.iterations(PARAMS.epsilon, 1000)
    expected, gammas = reference(graph, PARAMS)
    assert converged
    assert np.abs(p - expected).sum() < 1e-8
    assert verify(web, PARAMS, p).mass_error < 1e-9
    assert abs(iterations - len(gammas)) <= 1


def test_it_is_measured_in_the_rounds_of_our_kernels(web: CsrMatrix, gpu: DeviceInfo) -> None:
    params = PagerankParams(kernels=("split/tile+fp64", "cugraph"), rounds=9, energy_s=0.0)
    info = MatrixInfo("w", "w", web.n_rows, web.n_cols, web.nnz)
    cases = tuple(PagerankStudy().cases(params, [info], gpu))
    with open_bench(gpu) as bench:
        records = list(PagerankStudy().run(params, cases, {"w": web}, bench))
    ours, told, sought = (r for r in records if isinstance(r, Measurement))
    assert (ours.state, sought.state) == ("ok", "ok"), (ours.note, sought.note)
    assert told.state in ("ok", "unconverged"), told.note
    assert told.details.tolerance == PARAMS.epsilon
    assert sought.details.residual < PARAMS.epsilon
    assert sought.details.top_pages == ours.details.top_pages
    assert told.environment["cuGraph"]
    assert len(sought.samples_s) == 9
