"""The stand-ins of the graphs of the CPMS PageRank paper, made smaller, against Tables I and II."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.findings.pagerank.paper import GRAPHS, PaperGraph
from gpu_engine.generators import GENERATORS, generate
from gpu_engine.gpu_bench.benchmark_matrices import GRAPH_SUBJECTS, Subject
from gpu_engine.gpu_bench.paper_graphs import PAPER_GRAPHS
from gpu_engine.pagerank import PageRankParams, reference, transition_matrix
from gpu_engine.parameters import parse_params

SUBJECTS = {subject.name: subject for subject in GRAPH_SUBJECTS if subject.group == "paper graph"}
SMALLER = {"nx": 16, "ny": 16, "length": 16, "width": 16, "n": 64}
"""Parameter of a generator → factor by which the tests have fewer points."""

LARGE_ENOUGH = {"Stanford": 2, "web-BerkStan": 4, "web-Google": 4}
"""Graph → factor instead, because a small web has few hosts."""


def smaller(name: str) -> tuple[str, dict[str, Any]]:
    """The generator of a stand-in and its parameters, with fewer points."""
    generator, params = PAPER_GRAPHS[name]
    factors = SMALLER | ({"n": LARGE_ENOUGH[name]} if name in LARGE_ENOUGH else {})
    return generator, {key: value // factors[key] if key in factors else value for key, value in params.items()}


def test_every_graph_of_the_paper_has_a_stand_in() -> None:
    assert list(SUBJECTS) == [graph.name for graph in GRAPHS]
    assert set(PAPER_GRAPHS) == set(SUBJECTS)
    for graph in GRAPHS:
        subject = SUBJECTS[graph.name]
        assert subject.source == {"kind": "collection", "name": graph.collection}
        substitute = subject.substitute
        assert isinstance(substitute, Subject)
        assert (substitute.name, substitute.substitute) == (f"{graph.name} (stand-in)", None)
        assert substitute.source["params"]["values"] == "ones"


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.short)
def test_a_stand_in_has_the_size_of_the_matrix(graph: PaperGraph) -> None:
    generator, params = PAPER_GRAPHS[graph.name]
    (maker,) = (maker for maker in GENERATORS if maker.name == generator)
    points = [params[key] for key in ("n", "nx", "ny", "length", "width") if key in params]
    assert np.prod(points) == pytest.approx(graph.n, rel=1e-4)
    if generator != "web":
        expected = maker.estimate_nnz(parse_params(maker.Params, params | {"part": "lower"}))
        assert expected == pytest.approx(graph.nnz, rel=2e-3)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.short)
def test_a_stand_in_is_near_the_print(graph: PaperGraph) -> None:
    params = parse_params(PageRankParams, {"triangle": "lower" if graph.is_symmetric else "full"})
    links = transition_matrix(generate(*smaller(graph.name)), params)
    assert links.pull.nnz / links.n == pytest.approx(graph.nnz / graph.n, rel=0.03)
    empty, printed = links.dangling.size / links.n, graph.empty_rows / graph.n
    # In a small geometric graph more points lie at the edge, with neighbors on one side.
    assert empty == pytest.approx(printed, rel=0.08, abs=1e-3 if graph.short == "Rgg" else 0.0)
    _, gammas = reference(links, params)
    assert len(gammas) == pytest.approx(graph.fp64, rel=0.05, abs=4)
