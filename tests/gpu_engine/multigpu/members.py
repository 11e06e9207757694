"""Teams of members for tests, with their parts and connected."""

from collections.abc import Sequence
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.multigpu.cluster_product import ProductMember
from gpu_engine.multigpu.cluster_ranks import Graph, RankMember
from gpu_engine.multigpu.crew import Crew, Team
from gpu_engine.multigpu.exchange import ExchangeName, plan_transfers
from gpu_engine.multigpu.partition import Span, find_partitioning, localize
from gpu_engine.multigpu.shards import whole_rows
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix

PCSR = find_partitioning("pCSR")
PIECE = 50
"""Elements of a part that are sent at a time."""


def product(crew: Crew, matrix: CsrMatrix, count: int, exchange: ExchangeName, overlap: bool, key: str = "key") -> Any:
    """A connected team, and its spans."""
    spans = whole_rows(PCSR.store(matrix), count)
    team = crew.team(key, count, ProductMember)
    folder = crew.cluster.folder_of("")
    infos = team.each(
        "load_part", [folder] * count, [spans] * count, range(count), [exchange] * count, [overlap] * count
    )
    team.connect(plan_transfers(spans, [info.halo for info in infos]))
    return team, spans


def load(team: Any, spans: Sequence[Span], x: Any) -> None:
    for number, span in enumerate(spans):
        team.send(number, "load", span.own.start, x[span.own])


def ranking(
    crew: Crew, graph: TransitionMatrix, count: int, segments: int, exchange: ExchangeName, overlap: bool
) -> tuple[Team, Sequence[Span]]:
    """A team that runs PageRank with its default parameters, and its spans."""
    links, team = PCSR.store(graph.pull), crew.team("key", count, RankMember)
    spans = whole_rows(links, count)
    for number, span in enumerate(spans):
        arrays = localize(links, span), links.minor[span.start : span.end], links.values[span.start : span.end]
        for name, array in zip(("major", "minor", "values"), arrays, strict=True):
            for begin in range(0, array.size, PIECE):
                team.send(number, "receive", name, begin, array[begin : begin + PIECE], array.size)
    common = PageRankParams(), segments, exchange, overlap
    pages = [Graph(graph.n, graph.dangling)] * count, [spans] * count, range(count)
    infos = team.each("load_part", *pages, *([each] * count for each in common))
    team.connect(plan_transfers(spans, [info.halo for info in infos]))
    return team, spans
