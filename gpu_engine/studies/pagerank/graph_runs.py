"""GraphRuns: the state that all PageRank runs on one graph share, of Sparsight kernels and of libraries."""

import math
from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.measure import Bench
from gpu_engine.pagerank.details import PageRankDetails
from gpu_engine.pagerank.early_stopping import TOGETHER_S, EarlyStopping
from gpu_engine.pagerank.graph import PageRankParams, transition_matrix
from gpu_engine.pagerank.kernels import RankKernel
from gpu_engine.pagerank.run import PLAIN
from gpu_engine.pagerank.verify import Verification, Verifier, top_pages
from gpu_engine.records import Case
from gpu_engine.sampling.experiment import Candidate, Experiment, Fields
from gpu_engine.verdicts.verdict import MIN_ROUNDS_FOR_VERDICT

REFERENCES = ("split/tile+fp64", "csr/thread+fp64")
"""Control kernels: the first of these that is measured runs twice per round."""


@dataclass(frozen=True, slots=True)
class PageRankPlan:
    """Plan of the measurements of a graph: kernel and schedule per case, number of rounds, and number of top pages.

    kernels  by case key; a case without an entry is run by a library
    stops    whether runs that are much slower than another one are stopped early, unless they are needed
    needed   keys of the cases that statements and figures use
    """

    params: PageRankParams
    kernels: dict[str, tuple[RankKernel, Any, bool]]
    rounds: int
    energy_s: float
    top: int
    stops: bool = False
    needed: Collection[str] = ()


class GraphRuns(Experiment):
    """Experiment on one graph: the graph, its verifier, and the reference ranks."""

    details = PageRankDetails
    beginning = "computing the transition matrix"

    def __init__(self, plan: PageRankPlan, cases: Sequence[Case], adjacency: CsrMatrix, bench: Bench) -> None:
        super().__init__(cases, ("warm",), plan.rounds, bench)
        self.plan, self.adjacency = plan, adjacency

    def load(self) -> Sequence[Candidate]:
        """Load the graph, its verifier and the reference ranks of an fp64 run; return the candidates."""
        self.graph = transition_matrix(self.adjacency, self.plan.params)
        self.verifier = Verifier(self.adjacency, self.plan.params)
        # On a web graph one thread per page takes a hundred times as long.
        kernel = RankKernel("csr/thread" if self.bench.xp is np else "split/tile")
        ranks = kernel.ranks(self.graph, self.plan.params, self.bench.xp)
        run = kernel.procedure.iterate(ranks, self.plan.params, PLAIN)
        self.fp64 = ranks.ranks()
        # On a GPU the first run of a long candidate counts as one of its rounds and is timed by phase.
        runs = 2 + MIN_ROUNDS_FOR_VERDICT if self.bench.xp is np else MIN_ROUNDS_FOR_VERDICT
        self.stopping = EarlyStopping(self.plan.stops, len(run.gammas), runs)
        candidates = [self.candidate(case) for case in self.cases]
        first = next((name for name in REFERENCES if any(c.kernel == name for c in candidates)), "")
        return sorted(candidates, key=lambda c: c.kernel != first)

    @property
    def transition(self) -> Fields:
        """Return the fields that all runs have in common."""
        return {
            "links": self.graph.pull.nnz,
            "dangling_pages": int(self.graph.dangling.size),
            "link_counts": self.graph.link_counts,
        }

    def most_s(self, case: Case) -> float:
        """Return the seconds that a much slower case may take; unlimited for a needed case on a GPU."""
        if case.key not in self.plan.needed:
            return TOGETHER_S / len(self.cases)
        # On a CPU, which only stands in for the GPU of the paper, padding alone may take minutes.
        return TOGETHER_S if self.bench.xp is np else math.inf

    def accuracy(self, verification: Verification, p: Any) -> Fields:
        """Return the fields of a verification of the ranks p, and their top pages."""
        best = top_pages(p, self.plan.top)
        return {
            "residual": verification.residual,
            "mass_error": verification.mass_error,
            "distance": verification.distance,
            "top_k_agreement": verification.top_k_agreement,
            "top_k_slack": verification.slack,
            "top_pages": tuple(int(page) for page in best),
            "top_ranks": tuple(float(p[page]) for page in best),
        }

    @abstractmethod
    def candidate(self, case: Case) -> Candidate:
        """Return what runs a case."""
