"""SolverExperiment: all solves of one system, verified on the host and sampled in the same rounds."""

from gpu_engine.competitors.solvers import LibrarySolver
from gpu_engine.records import Case
from gpu_engine.sampling.experiment import Candidate
from gpu_engine.studies.solvers.library_candidate import LibrarySolve
from gpu_engine.studies.solvers.solve_candidate import SolveCandidate
from gpu_engine.studies.solvers.system_solves import SystemSolves


class SolverExperiment(SystemSolves):
    """Experiment with all methods, kernels, preconditioners, and tolerances of one system, and with libraries."""

    def candidate(self, case: Case) -> Candidate:
        """Return the candidate of a case: a solve with a kernel, or by a library."""
        by_library = isinstance(self.plan.solves[case.key].kernel, LibrarySolver)
        return LibrarySolve(self, case) if by_library else SolveCandidate(self, case)
