"""Statements of the CPMS PageRank paper on Figure 4, checked against SpMVs that were measured alone."""

from collections.abc import Iterable

from gpu_engine.findings.conclusions import Conclusion, Says, Statement, conclude, table_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.paper import is_papers_problem, paper_graph
from gpu_engine.findings.reduced_spmv.figure_four import FIGURE_FOUR, PaperProducts
from gpu_engine.findings.reduced_spmv.groups import ProductGroup, Setting, group_by_setting, product_groups
from gpu_engine.text.tables import Table

RESULTS: tuple[Says, ...] = ("agrees", "mostly", "seldom", "disagrees")
"""Possible results of a statement with data."""

STATEMENTS: tuple[Statement[PaperProducts], ...] = FIGURE_FOUR
"""Statements on SpMV with both operands in segments."""


def conclusions(data: StudyData) -> list[Conclusion]:
    """Return the conclusions of each statement per device: on the paper's problems, and on all graphs."""
    places: dict[tuple[str, str], list[tuple[str, PaperProducts]]] = {}
    for products in _products(group_by_setting(product_groups(data)), data):
        places.setdefault((products.group.device, "warm"), []).append((_name(products.group, data), products))
    return conclude(STATEMENTS, places, data, lambda products: _is_papers(products.group, data))


def table(data: StudyData) -> Table:
    """Return a table with one row per statement, scope, and device."""
    return table_of(conclusions(data))


def agreement(data: StudyData) -> str:
    """Return `Of the paper's 12 statements on Figure 4, 2 agree …`; empty if none has data.

    A statement counts on the paper's matrices if they were measured, else on all.
    """
    results: dict[str, Says] = {}
    for conclusion in conclusions(data):
        if conclusion.says != "no data" and (conclusion.statement not in results):
            results[conclusion.statement] = conclusion.says
    words = list(results.values())
    counts = [_count_text(words.count(says), says) for says in RESULTS if says in words]
    return f"Of the paper's {len(words)} statements on Figure 4, {', '.join(counts)} with these times." if words else ""


def _count_text(count: int, says: Says) -> str:
    """Return `2 agree`, `1 agrees`, `2 mostly agree`, or `1 disagrees`."""
    verb = f"{says} agrees" if says in ("mostly", "seldom") else says
    return f"{count} {verb if count == 1 else verb.removesuffix('s')}"


def _products(settings: Iterable[Setting], data: StudyData) -> Iterable[PaperProducts]:
    """Yield the SpMVs of each graph; a web graph of the paper, which `triangle=lower` leaves whole, once."""
    every = [PaperProducts(group, setting.block) for setting in settings for group in setting.groups]
    lower = {(each.group.device, each.group.matrix_id) for each in every if each.group.triangle == "lower"}
    for each in every:
        graph = paper_graph(data.matrix(each.group.matrix_id).name)
        is_web = graph is not None and not graph.is_symmetric
        if not (is_web and each.group.triangle == "full" and (each.group.device, each.group.matrix_id) in lower):
            yield each


def _is_papers(group: ProductGroup, data: StudyData) -> bool:
    return is_papers_problem(data.matrix(group.matrix_id).name, {"triangle": group.triangle})


def _name(group: ProductGroup, data: StudyData) -> str:
    """Return the name of the graph; of one that the paper did not measure with its triangle."""
    name = data.matrix(group.matrix_id).name
    if _is_papers(group, data):
        return name
    return f"{name}, lower triangle" if group.triangle == "lower" else f"{name}, whole" if paper_graph(name) else name
