"""The bytes that an iteration of PageRank must move, whatever the kernel: what its bound is made of."""

from gpu_engine.pagerank.graph import TransitionMatrix
from gpu_engine.pagerank.kernels import RankKernel

WORD = 8


def iteration_bytes(graph: TransitionMatrix, kernel: RankKernel, read: int, write: int) -> float:
    """Links and pointers of CSR, values and ranks as they are stored, each once; padding does not count.

    read, write  segments, of those that the kernel splits a value into; without segments they say nothing. Of a
                 refinement `read` is that of its passes
    """
    n, nnz = graph.n, graph.pull.nnz
    pattern = 4.0 * nnz + float(graph.pull.indptr.dtype.itemsize * (n + 1))
    if kernel.refined:
        # Of a page its out-degree, what is gathered, what is written and the residual; Chebyshev's also the one before.
        correction = kernel.refined / 8
        return pattern + n * (4.0 + (WORD + 2 * correction if read == 2 else (3 + graph.undirected) * correction))
    number = WORD / 2 if kernel.single else WORD
    share_read, share_write = (k / kernel.segments if kernel.segments else 1.0 for k in (read, write))
    values = 0.0 if kernel.free else number * share_read * nnz
    page = 4.0 if kernel.free else 1.0
    return pattern + values + n * (number * (share_read + share_write) + page)
