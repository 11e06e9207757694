"""The bytes that an iteration of PageRank must move, whatever the kernel: what its bound is made of."""

from gpu_engine.pagerank.graph import TransitionMatrix
from gpu_engine.pagerank.kernels import RankKernel

WORD = 8


def iteration_bytes(graph: TransitionMatrix, kernel: RankKernel, read: int, write: int) -> float:
    """Links and pointers of CSR, values and ranks as they are stored, each once; padding does not count.

    read, write  segments, of those that the kernel splits a value into; without segments they say nothing
    """
    n, nnz = graph.n, graph.pull.nnz
    number = WORD / 2 if kernel.single else WORD
    share_read, share_write = (k / kernel.segments if kernel.segments else 1.0 for k in (read, write))
    values = 0.0 if kernel.free else number * share_read * nnz
    page = 4.0 if kernel.free else 1.0
    pointers = float(graph.pull.indptr.dtype.itemsize * (n + 1))
    return 4.0 * nnz + values + pointers + n * (number * (share_read + share_write) + page)
