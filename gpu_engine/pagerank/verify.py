"""Verification of rank vectors: slow, in extended precision, and independent of the code that computes them.

It starts from the adjacency matrix and pushes along the links, while the kernels pull; only `reference` pulls.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix

ROUNDING = 1e-12
"""Allowance for the rounding of an iteration in the residual: far above its effect, far below the default ε."""

CUTS = 4
"""Number of truncations per iteration: matrix, vector, result and norm change by at most 2^(−m) of their size."""


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of the verification of a rank vector p.

    residual    ‖G(p) − p‖₁, G line 6 of Algorithm 1
    mass_error  |‖p‖₁ − 1|
    distance    ‖p − expected‖₁; None without an expected vector
    top_k_agreement  share, 0 to 1, of the top pages of `expected` that are top pages of p; ranks within `slack` count
                as equal. None without an expected vector, or if the slack is as large as these ranks
    slack       largest difference of two ranks that the residuals of p and `expected` allow; None without damping
    """

    residual: float
    mass_error: float
    distance: float | None = None
    top_k_agreement: float | None = None
    slack: float | None = None


class Verifier:
    """Verification of rank vectors of one graph; the data of the graph are computed once."""

    def __init__(self, adjacency: CsrMatrix, params: PageRankParams) -> None:
        self._n, self._params = adjacency.n_rows, params
        sources, targets, weights = _weighted_links(adjacency, params)
        self._links = scipy.sparse.coo_array((weights, (targets, sources)), shape=(self._n, self._n))
        self._expected: tuple[Any, float] | None = None
        self._totals = self._links.T @ np.ones(self._n, np.longdouble)
        self._teleport = np.ones(self._n, np.longdouble) / max(self._n, 1)

    def with_teleport(self, teleport: Any) -> "Verifier":
        """Return the verification of personalized ranks of the graph, for a teleport vector, float64 [n] with sum 1."""
        personalized = copy(self)
        personalized._teleport, personalized._expected = np.asarray(teleport, dtype=np.longdouble), None
        return personalized

    def verify(self, p: Any, expected: Any | None = None, top: int = 100) -> Verification:
        """Verify p, float64 [n], against the definition and, if given, against an expected vector and its `top` pages.

        Raise KernelError if p does not have one element per page.
        """
        if np.shape(p) != (self._n,):
            raise KernelError(f"Wrong ranks: the vector has shape {np.shape(p)}, but there are {self._n} pages.")
        exact = np.asarray(p, dtype=np.longdouble)
        residual = self._residual(exact)
        mass_error = abs(float(np.abs(exact).sum() - 1)) if exact.size else 0.0
        if expected is None:
            return Verification(residual, mass_error)
        distance = float(np.abs(exact - np.asarray(expected, dtype=np.longdouble)).sum())
        if self._params.damping == 1:
            # Without damping G does not contract, so that a residual does not bound the error.
            return Verification(residual, mass_error, distance, top_k_agreement(p, expected, top))
        # G contracts by the damping factor, so ‖p − p*‖₁ ≤ residual / (1 − δ) for the exact ranks p*.
        slack = (residual + self._residual_of_expected(expected)) / (1 - self._params.damping)
        return Verification(residual, mass_error, distance, top_k_agreement(p, expected, top, slack), slack)

    def check(
        self, p: Any, gamma: float, mantissa_bits: int = 52, expected: Any | None = None, top: int = 100
    ) -> Verification:
        """Verify the ranks of a run that ended with γ = `gamma` in an iteration that read `mantissa_bits` bits.

        An iteration does not increase the distance of two vectors, so the residual is at most the last change in L1
        plus rounding and truncation. Raise KernelError if it is larger, or NaN.
        """
        verification = self.verify(p, expected, top)
        # ‖v‖₁ ≤ √n·‖v‖₂ and ‖v‖₁ ≤ n·‖v‖∞.
        widest = {"L1": 1.0, "L2": self._n**0.5, "Linf": float(self._n)}[self._params.norm]
        limit = widest * gamma + CUTS * 2.0**-mantissa_bits + ROUNDING
        if not verification.residual <= limit:
            raise KernelError(
                f"Wrong ranks: another iteration changes them by {verification.residual:.3g} in L1; after a last "
                f"change of {gamma:.3g} ({self._params.norm}) the limit is {limit:.3g}."
            )
        return verification

    def _residual_of_expected(self, expected: Any) -> float:
        """Return the residual of the expected ranks, computed once for all runs."""
        if self._expected is None or self._expected[0] is not expected:
            self._expected = expected, self._residual(np.asarray(expected, dtype=np.longdouble))
        return self._expected[1]

    def _residual(self, p: Any) -> float:
        return float(np.abs(self._pushed(p) - p).sum())

    def _pushed(self, p: Any) -> Any:
        """Return G(p), longdouble [n], where every page adds to those it links to."""
        scaled = np.divide(p, self._totals, out=np.zeros_like(p), where=self._totals > 0)
        s = p[self._totals == 0].sum()
        damping = np.longdouble(self._params.damping)
        spread = {"teleport": damping * s, "ignore": 0 * s, "as printed": s}[self._params.dangling]
        return damping * (self._links @ scaled) + (1 - damping + spread) * self._teleport


def verify(
    adjacency: CsrMatrix, params: PageRankParams, p: Any, expected: Any | None = None, top: int = 100
) -> Verification:
    """Verify one rank vector, as `Verifier.verify` does."""
    return Verifier(adjacency, params).verify(p, expected, top)


def check(adjacency: CsrMatrix, params: PageRankParams, p: Any, gamma: float, mantissa_bits: int = 52) -> Verification:
    """Verify the ranks of one run, as `Verifier.check` does."""
    return Verifier(adjacency, params).check(p, gamma, mantissa_bits)


def top_pages(p: Any, top: int) -> Any:
    """Return the pages with the highest ranks, descending, ties by number: int64 [at most `top`]."""
    ranks, top = np.asarray(p), min(top, len(p))
    if not top:
        return np.zeros(0, np.int64)
    least = np.partition(ranks, ranks.size - top)[ranks.size - top]
    above = np.flatnonzero(ranks > least)
    chosen = np.concatenate([above, np.flatnonzero(ranks == least)[: top - above.size]])
    return chosen[np.lexsort((chosen, -ranks[chosen]))]


def top_k_agreement(p: Any, expected: Any, top: int, slack: float = 0.0) -> float | None:
    """Return the share, 0 to 1, of the `top` highest ranks of `expected` that are also among those of p.

    slack  a page whose rank is lower than the least of them by at most this also counts, because the order is noise

    None if the least of them is at most the slack, because then top pages cannot be distinguished from others.
    """
    first, second = top_pages(p, top), top_pages(expected, top)
    if not second.size:
        return 1.0
    ranks = np.asarray(p)
    least = ranks[first[-1]]
    if slack and slack >= least:
        return None
    near = (ranks[second] >= least - slack) & (slack > 0)
    return float(np.mean(near | np.isin(second, first)))


def reference(
    graph: TransitionMatrix, params: PageRankParams, teleport: Any | None = None, start: Any | None = None
) -> tuple[Any, tuple[float, ...]]:
    """Run Algorithm 1 with SciPy in fp64; return p, float64 [n], and γ of every iteration (at the end < ε).

    teleport  float64 [n] with sum 1; default: e/n; start: the first ranks; default: the teleport vector
    """
    n, pull = max(graph.n, 1), graph.pull.to_scipy()
    first = np.full(graph.n, 1.0 / n) if teleport is None else teleport
    p = first if start is None else start
    gammas: list[float] = []
    while len(gammas) < params.iterations_max:
        s = p[graph.dangling].sum()
        base = 1.0 - params.damping + params.dangling_factor * s
        new = params.damping * (pull @ p) + (base / n if teleport is None else base * teleport)
        gammas.append(change(new - p, params.norm))
        p = new
        if gammas[-1] < params.epsilon:
            break
    return p, tuple(gammas)


def change(difference: Any, norm: str) -> float:
    """Return the norm of a host vector; 0 for an empty one."""
    if norm == "L2":
        return float(np.sqrt(np.square(difference).sum()))
    return float(np.abs(difference).sum() if norm == "L1" else np.abs(difference).max(initial=0.0))


def _weighted_links(adjacency: CsrMatrix, params: PageRankParams) -> tuple[Any, Any, Any]:
    """Return source int64, target int64 and weight longdouble, each [links]."""
    n = adjacency.n_rows
    sources = np.repeat(np.arange(n, dtype=np.int64), np.diff(adjacency.indptr))
    targets = adjacency.indices.astype(np.int64)
    weights = adjacency.values if params.weights == "use" else np.ones(adjacency.nnz)
    keep = np.ones(adjacency.nnz, bool)
    is_lower = params.triangle == "lower" and np.array_equal(sources * n + targets, np.sort(targets * n + sources))
    if params.row == "target":
        sources, targets = targets, sources
    if is_lower:
        keep &= targets < sources
    if params.self_loops == "drop":
        keep &= targets != sources
    return sources[keep], targets[keep], weights[keep].astype(np.longdouble)
