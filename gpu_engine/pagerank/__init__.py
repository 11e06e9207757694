"""PageRank by power iteration, with ranks and matrix values in fp64, fp32, mantissa segments, or without values.

The modules, in the order in which to read them:

graph                the problem: PageRankParams, and TransitionMatrix, which an iteration pulls ranks through
schedule             the precision schedule: how many segments an iteration reads and writes (pure functions)
run                  Algorithm 1: `iterate` runs it on any state of ranks, `replayed` repeats its steps to time them
refinement           the other procedure: iterative refinement, with corrections in 32 or 64 bits
kernels              KERNELS: all layouts and storages by name; RankKernel creates the state that a procedure drives

  state of the ranks on a CPU
cpu                  one iteration, compiled by Numba
cpu_ranks            the state of a run, one class per storage

  state of the ranks on a GPU
cuda_pulls           PULLS: layouts of the transition matrix, and the launches that pull ranks through it
launch_shapes        threads and blocks of kernels with one thread per page, by segments and layout
convergence_kernel   the CUDA sources of the norm phase
cuda_ranks           the state of a run with fused kernels
unfused              the state of a run with one kernel per step, as in the paper
cuda_refined         the state of iterative refinement
converging           runs that test convergence on the device, as conditions of a CUDA graph

  several seed sets at once (personalized PageRank)
seeds                the teleport vectors, from seed sets or their text
seeded               `seeded_ranks`: the run, with frozen columns, compaction, and warm start
seeded_block         the ranks of all columns: what both backends share
seeded_cpu           one iteration, compiled by Numba
seeded_cuda          the launches of seeded.cu

  verification and measurements
verify               independent verification of ranks in extended precision, and top-k agreement
early_stopping       stops runs that are much slower than another run of their graph
bytes                compulsory bytes of an iteration, for the roofline time
details              fields of a record of the study `pagerank`
products             the SpMVs of the study `reduced_spmv`: which operands are in segments, and in which blocks
memory_transactions  sectors and cache lines that a load of a warp touches

The CUDA sources lie beside the modules. gpu_engine/cpms has the segments, gpu_engine/studies/pagerank the study.

Source: Grützmacher, Anzt, Scheidegger, Quintana-Ortí: High-Performance GPU Implementation of PageRank with Reduced
Precision based on Mantissa Segmentation, IA3 2018; here "the CPMS PageRank paper".
"""

from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix, transition_matrix
from gpu_engine.pagerank.schedule import (
    Schedule,
    Step,
    advance,
    converts,
    ends,
    iterations_by_segments,
    must_raise,
    replay,
    start,
)
from gpu_engine.pagerank.verify import Verification, Verifier, check, reference, top_pages, verify

__all__ = [
    "PageRankParams",
    "Schedule",
    "Step",
    "TransitionMatrix",
    "Verification",
    "Verifier",
    "advance",
    "check",
    "converts",
    "ends",
    "iterations_by_segments",
    "must_raise",
    "reference",
    "replay",
    "start",
    "top_pages",
    "transition_matrix",
    "verify",
]
