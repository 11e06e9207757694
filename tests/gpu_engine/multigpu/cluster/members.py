"""Teams of members for tests, with their parts and connected."""

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.multigpu.cluster.actor_pool import ActorPool, CaseActors
from gpu_engine.multigpu.cluster.product import ProductMember
from gpu_engine.multigpu.cluster.ranks import Graph, RankMember
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.exchange import ExchangeName
from gpu_engine.multigpu.graph_shards import whole_rows
from gpu_engine.multigpu.partition import find_partitioning, localize
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix

PCSR = find_partitioning("pCSR")
PIECE = 50
"""Elements of a part that are sent at a time."""


def product(
    pool: ActorPool, matrix: CsrMatrix, count: int, exchange: ExchangeName, overlap: bool, *, cut_rows: bool = False
) -> CaseActors:
    """A team that iterates products."""
    stored, team = PCSR.store(matrix), pool.case_actors("multiplying", count, ProductMember)
    spans = cut_by_entries(stored, (count,)) if cut_rows else whole_rows(stored, count)
    team.load_parts(spans, pool.cluster.folder_of(""), exchange, overlap)
    return team


def ranking(
    pool: ActorPool, graph: TransitionMatrix, count: int, segments: int, exchange: ExchangeName, overlap: bool
) -> CaseActors:
    """A team that runs PageRank with its default parameters."""
    links, team = PCSR.store(graph.pull), pool.case_actors("ranking", count, RankMember)
    spans = whole_rows(links, count)
    for number, span in enumerate(spans):
        arrays = localize(links, span), links.minor[span.start : span.end], links.values[span.start : span.end]
        for name, array in zip(("major", "minor", "values"), arrays, strict=True):
            for begin in range(0, array.size, PIECE):
                team.send(number, "receive", name, begin, array[begin : begin + PIECE], array.size)
    team.load_parts(spans, Graph(graph.n, graph.dangling), PageRankParams(), segments, exchange, overlap)
    return team
