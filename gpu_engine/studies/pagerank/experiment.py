"""PageRankExperiment: runs and verifies every kernel and schedule on one graph, and samples them in the same rounds."""

from gpu_engine.records import Case
from gpu_engine.sampling.experiment import Candidate
from gpu_engine.studies.pagerank.graph_runs import GraphRuns
from gpu_engine.studies.pagerank.library_candidate import LibraryCandidate
from gpu_engine.studies.pagerank.runs import PageRankCandidate


class PageRankExperiment(GraphRuns):
    """Experiment with all kernels and schedules of one graph, and the requested libraries."""

    def candidate(self, case: Case) -> Candidate:
        """Return the candidate of a case: a kernel with its schedule, or a library if the case has none."""
        kernel_run = self.plan.kernels.get(case.key)
        return PageRankCandidate(self, case, *kernel_run) if kernel_run else LibraryCandidate(self, case)
