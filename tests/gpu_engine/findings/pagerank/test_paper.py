import pytest

from gpu_engine.findings.pagerank.paper import (
    GRAPHS,
    NAMES,
    TOO_LARGE_IN_ELL,
    is_papers_problem,
    paper_graph,
    paper_position,
)


def test_the_counts_are_those_of_the_print() -> None:
    assert [graph.name for graph in GRAPHS if sum(graph.four) != graph.four_total] == []
    assert [graph.short for graph in GRAPHS if sum(graph.two) != graph.two_total] == ["Eur", "USA", "edu"]
    assert {graph.four_total - graph.fp64 for graph in GRAPHS} == {0, 1}
    assert {graph.two_total - graph.fp64 for graph in GRAPHS} == {0, 1}
    assert len(set(NAMES)) == len({graph.short for graph in GRAPHS}) == 10
    assert {graph.short for graph in GRAPHS} >= set(TOO_LARGE_IN_ELL)


def test_the_web_graphs_are_the_unsymmetric_ones() -> None:
    assert [graph.short for graph in GRAPHS if not graph.is_symmetric] == ["Std", "edu", "Brk", "Ggl"]
    stanford = paper_graph("Stanford")
    assert stanford is not None
    assert stanford.collection == "Kamvar/Stanford"


@pytest.mark.parametrize(
    ("name", "short"),
    [("adaptive", "Ada"), ("ADAPTIVE (stand-in)", "Ada"), ("web-Google (another)", "Ggl"), ("adaptive2", ""), ("", "")],
)
def test_a_stand_in_counts_as_what_it_stands_in_for(name: str, short: str) -> None:
    graph = paper_graph(name)
    assert (graph.short if graph else "") == short


@pytest.mark.parametrize(
    ("name", "axes", "is_papers"),
    [
        ("adaptive", {"triangle": "lower"}, True),
        ("adaptive", {}, False),
        ("adaptive", {"triangle": "lower", "damping": "0.9"}, False),
        ("Stanford (stand-in)", {}, True),
        ("Stanford (stand-in)", {"triangle": "lower"}, True),
        ("Stanford (stand-in)", {"dangling": "ignore"}, False),
        ("st27", {"triangle": "lower"}, False),
    ],
)
def test_the_papers_problems(name: str, axes: dict[str, str], is_papers: bool) -> None:
    assert is_papers_problem(name, axes) == is_papers


def test_other_matrices_come_after_those_of_the_paper() -> None:
    names = ["st27", "web-Google (stand-in)", "adaptive"]
    assert sorted(names, key=paper_position) == ["adaptive", "web-Google (stand-in)", "st27"]
