"""PageRank: the graph, the schedule of precisions, and whether a rank vector is right.

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
