"""GraphRuns: what all runs of PageRank on one graph share, our kernels and other libraries alike."""

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
from gpu_engine.verdicts.verdict import FEWEST

REFERENCES = ("split/tile+fp64", "csr/thread+fp64")
"""The first of these that is measured enters every round twice."""


@dataclass(frozen=True, slots=True)
class PageRankPlan:
    """What to measure of a graph: for each case its kernel and schedule, how often, and how many top pages.

    kernels  by the key of the case; a case that is not there is a library's
    stops    whether runs that are far behind another one, and not needed, are stopped where they cost too much
    needed   keys of the cases that statements and figures are made from
    """

    params: PageRankParams
    kernels: dict[str, tuple[RankKernel, Any, bool]]
    rounds: int
    energy_s: float
    top: int
    stops: bool = False
    needed: Collection[str] = ()


class GraphRuns(Experiment):
    """What all runs on one graph share: the graph, its verifier, the ranks they are compared with."""

    details = PageRankDetails
    beginning = "making the transition matrix"

    def __init__(self, plan: PageRankPlan, cases: Sequence[Case], adjacency: CsrMatrix, bench: Bench) -> None:
        super().__init__(cases, ("warm",), plan.rounds, bench)
        self.plan, self.adjacency = plan, adjacency

    def load(self) -> Sequence[Candidate]:
        """The graph, its verifier, and the ranks of a run in fp64 that the others are compared with."""
        self.graph = transition_matrix(self.adjacency, self.plan.params)
        self.verifier = Verifier(self.adjacency, self.plan.params)
        # One thread a page takes a hundred times as long on a web.
        kernel = RankKernel("csr/thread" if self.bench.xp is np else "split/tile")
        ranks = kernel.ranks(self.graph, self.plan.params, self.bench.xp)
        run = kernel.procedure.iterate(ranks, self.plan.params, PLAIN)
        self.fp64 = ranks.ranks()
        # On a GPU the first run of what is long is one of its rounds, and timed part by part.
        runs = 2 + FEWEST if self.bench.xp is np else FEWEST
        self.stopping = EarlyStopping(self.plan.stops, len(run.gammas), runs)
        candidates = [self.candidate(case) for case in self.cases]
        first = next((name for name in REFERENCES if any(c.kernel == name for c in candidates)), "")
        return sorted(candidates, key=lambda c: c.kernel != first)

    @property
    def transition(self) -> Fields:
        """What all runs have in common."""
        return {
            "links": self.graph.pull.nnz,
            "dangling_pages": int(self.graph.dangling.size),
            "link_counts": self.graph.link_counts,
        }

    def most_s(self, case: Case) -> float:
        """Seconds that finishing a case may cost where it is far behind: of a needed one any number, on a GPU."""
        if case.key not in self.plan.needed:
            return TOGETHER_S / len(self.cases)
        # A CPU, on which padding alone may take minutes, stands in for the device of the paper.
        return TOGETHER_S if self.bench.xp is np else math.inf

    def accuracy(self, found: Verification, p: Any) -> Fields:
        """What the verifier has found of ranks, and their top pages."""
        best = top_pages(p, self.plan.top)
        return {
            "residual": found.residual,
            "mass_error": found.mass_error,
            "distance": found.distance,
            "top_k_agreement": found.top_k_agreement,
            "top_k_slack": found.slack,
            "top_pages": tuple(int(page) for page in best),
            "top_ranks": tuple(float(p[page]) for page in best),
        }

    @abstractmethod
    def candidate(self, case: Case) -> Candidate:
        """Return what runs a case."""
