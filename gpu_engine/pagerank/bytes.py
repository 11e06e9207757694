"""Compulsory bytes of an iteration of PageRank, from which its roofline time follows."""

from gpu_engine.pagerank.graph import TransitionMatrix
from gpu_engine.pagerank.kernels import RankKernel

WORD = 8


def iteration_bytes(graph: TransitionMatrix, kernel: RankKernel, read: int, write: int) -> float:
    """Return the bytes of links and pointers in CSR, and of values and ranks as stored, each once, without padding.

    read, write  segments that the iteration reads and writes; ignored without segments. For iterative refinement `read`
                 is that of its passes
    """
    n, nnz = graph.n, graph.pull.nnz
    pattern = 4.0 * nnz + float(graph.pull.indptr.dtype.itemsize * (n + 1))
    if kernel.refined:
        # Per page the out-degree, the gathered and written values and the residual; Chebyshev's also the previous one.
        correction = kernel.refined / 8
        return pattern + n * (4.0 + (WORD + 2 * correction if read == 2 else (3 + graph.undirected) * correction))
    number = WORD / 2 if kernel.single else WORD
    share_read, share_write = (k / kernel.segments if kernel.segments else 1.0 for k in (read, write))
    values = 0.0 if kernel.free else number * share_read * nnz
    page = 4.0 if kernel.free else 1.0
    return pattern + values + n * (number * (share_read + share_write) + page)
