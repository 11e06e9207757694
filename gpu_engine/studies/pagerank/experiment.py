"""PageRank of one graph: every kernel and schedule run, verified, and sampled in the same interleaved rounds."""

from gpu_engine.records import Case
from gpu_engine.sampling.experiment import Candidate
from gpu_engine.studies.pagerank.graph_runs import GraphRuns
from gpu_engine.studies.pagerank.peers import PeerCandidate
from gpu_engine.studies.pagerank.runs import PageRankCandidate


class PageRankExperiment(GraphRuns):
    """All kernels and schedules of one graph, and the libraries that were asked for."""

    def candidate(self, case: Case) -> Candidate:
        """A kernel with its schedule; a case without one is a library's."""
        kernel_run = self.plan.kernels.get(case.key)
        return PageRankCandidate(self, case, *kernel_run) if kernel_run else PeerCandidate(self, case)
