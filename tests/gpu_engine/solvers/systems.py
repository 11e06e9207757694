"""SYSTEMS: 40 systems of linear equations, by the methods that solve them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

RNG = np.random.default_rng(7)

SPD = ("cg", "minres", "bicgstab", "gmres")
INDEFINITE = ("minres", "gmres")
GENERAL = ("bicgstab", "gmres")


@dataclass(frozen=True)
class Case:
    """A system, the methods that solve it, and a preconditioner by name.

    b  right-hand side; None: normally distributed numbers
    """

    matrix: Callable[[], Any]
    methods: tuple[str, ...]
    M: str | None = None
    b: Callable[[Any], Any] | None = None


def _line(n: int, low: float = -1.0, middle: float = 2.0, high: float = -1.0) -> Any:
    return sp.diags_array([low, middle, high], offsets=(-1, 0, 1), shape=(n, n))


def stencil(*sizes: int, shift: float = 0.0) -> Any:
    """Return the Laplace operator of second order on a grid, with `shift` added to its diagonal."""
    total: Any = sp.csr_array((1, 1))
    for size in sizes:
        total = sp.kron(total, sp.eye_array(size)) + sp.kron(sp.eye_array(total.shape[0]), _line(size))
    return sp.csr_array(total + shift * sp.eye_array(total.shape[0]))


def anisotropic(size: int, epsilon: float) -> Any:
    return sp.csr_array(sp.kron(_line(size), sp.eye_array(size)) + epsilon * sp.kron(sp.eye_array(size), _line(size)))


def convection(size: int, peclet: float, upwind: bool = False) -> Any:
    """Return convection and diffusion in a plane; central differences, or upwind ones."""
    wind = _line(size, -peclet, peclet, 0.0) if upwind else _line(size, -peclet / 2, 0.0, peclet / 2)
    return sp.csr_array(stencil(size, size) + sp.kron(sp.eye_array(size), wind))


def scaled(matrix: Any, decades: float) -> Any:
    """Return D·A·D with a diagonal D over so many decades."""
    d = 10.0 ** np.random.default_rng(1).uniform(-decades / 2, decades / 2, matrix.shape[0])
    return sp.csr_array(sp.diags_array(d) @ matrix @ sp.diags_array(d))


def jumps(size: int, factor: float) -> Any:
    """Return diffusion on a line whose coefficient jumps by a factor every four cells."""
    k = np.where((np.arange(size + 1) // 4) % 2, factor, 1.0)
    diagonals: Any = [-k[1:-1], k[:-1] + k[1:], -k[1:-1]]
    return sp.csr_array(sp.diags_array(diagonals, offsets=(-1, 0, 1)))


def spectrum(eigenvalues: Any, seed: int = 3) -> Any:
    """Return a dense symmetric matrix with these eigenvalues."""
    n = len(eigenvalues)
    q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))
    dense = (q * eigenvalues) @ q.T
    return sp.csr_array((dense + dense.T) / 2)


def dominant(n: int, density: float, seed: int) -> Any:
    """Return a nonsymmetric matrix whose diagonal dominates."""
    rest: Any = sp.random_array((n, n), density=density, rng=np.random.default_rng(seed), format="csr")
    return sp.csr_array(rest + sp.diags_array(1.0 + np.asarray(abs(rest).sum(axis=1)).ravel()))


def graph(n: int, links: int, shift: float) -> Any:
    """Return the Laplace matrix of a graph with hubs."""
    rng = np.random.default_rng(5)
    ends = (n * rng.power(0.4, (2, links))).astype(int)
    a = sp.coo_array((np.ones(links), (ends[0], ends[1])), shape=(n, n)).tocsr()
    a = a + a.T
    a.setdiag(0.0)
    return sp.csr_array(sp.diags_array(np.asarray(a.sum(axis=1)).ravel() + shift) - a)


def saddle(size: int) -> Any:
    """Return [K Bᵀ; B 0], symmetric and indefinite, with zeros on its diagonal."""
    k, b = stencil(size, size, shift=0.5), sp.eye_array(size, size * size)
    return sp.csr_array(sp.block_array([[k, b.T], [b, None]]))


def neumann(size: int) -> Any:
    """Return the singular Laplace matrix of a line with free ends."""
    a = _line(size).tolil()
    a[0, 0] = a[-1, -1] = 1.0
    return sp.csr_array(a)


def with_zero_rows(matrix: Any) -> Any:
    """Return a matrix with three zero rows and columns in its midst."""
    keep = np.ones(matrix.shape[0])
    keep[[3, 7, 11]] = 0.0
    return sp.csr_array(sp.diags_array(keep) @ matrix @ sp.diags_array(keep))


def image(matrix: Any) -> Any:
    """Return a right-hand side in the range of the matrix."""
    return matrix @ np.random.default_rng(2).standard_normal(matrix.shape[0])


SYSTEMS: Mapping[str, Case] = {
    "plane": Case(lambda: stencil(24, 24), SPD),
    "plane shifted": Case(lambda: stencil(30, 20, shift=0.1), SPD),
    "space": Case(lambda: stencil(9, 8, 7), SPD),
    "line": Case(lambda: stencil(300), ("cg", "minres")),
    "anisotropic": Case(lambda: anisotropic(20, 1e-3), ("cg", "minres", "gmres")),
    "plane, Jacobi": Case(lambda: stencil(24, 24), SPD, "jacobi"),
    "scaled over 2 decades, Jacobi": Case(lambda: scaled(stencil(20, 20), 2.0), SPD, "jacobi"),
    "scaled over 6 decades, Jacobi": Case(lambda: scaled(stencil(20, 20), 6.0), ("cg",), "jacobi"),
    "jumps, Jacobi": Case(lambda: jumps(160, 1e4), ("cg",), "jacobi"),
    "jumps by 10": Case(lambda: jumps(120, 10.0), ("cg", "minres")),
    "identity": Case(lambda: sp.eye_array(50, format="csr"), SPD),
    "diagonal": Case(lambda: sp.diags_array(np.linspace(1.0, 9.0, 60), format="csr"), SPD),
    "one row": Case(lambda: sp.csr_array([[4.0]]), SPD),
    "two rows": Case(lambda: sp.csr_array([[4.0, 1.0], [1.0, 3.0]]), SPD),
    "three clusters": Case(lambda: spectrum(np.repeat([1.0, 10.0, 100.0], 20)), SPD),
    "condition 10^4": Case(lambda: spectrum(np.geomspace(1.0, 1e4, 80)), ("cg", "minres")),
    "condition 10^2": Case(lambda: spectrum(np.geomspace(1.0, 1e2, 80)), ("cg", "minres", "gmres")),
    "graph": Case(lambda: graph(300, 2000, 1.0), SPD),
    "graph, Jacobi": Case(lambda: graph(300, 2000, 1e-2), SPD, "jacobi"),
    "tiny values": Case(lambda: 1e-150 * stencil(12, 12), ("cg",)),
    "large values": Case(lambda: 1e140 * stencil(12, 12), ("cg",)),
    "negative definite": Case(lambda: -stencil(15, 15), INDEFINITE),
    "Helmholtz": Case(lambda: stencil(14, 14, shift=-0.4), ("minres",)),
    "both signs": Case(
        lambda: spectrum(np.concatenate([-np.geomspace(1, 10, 20), np.geomspace(1, 20, 30)])), INDEFINITE
    ),
    "one negative": Case(lambda: spectrum(np.concatenate([[-2.0], np.geomspace(1, 20, 40)])), INDEFINITE),
    "saddle point": Case(lambda: saddle(12), ("minres", "gmres")),
    "convection 0.1": Case(lambda: convection(20, 0.1), GENERAL),
    "convection 1": Case(lambda: convection(20, 1.0), GENERAL),
    "convection 1 upwind": Case(lambda: convection(20, 1.0, upwind=True), GENERAL),
    "convection 100 upwind": Case(lambda: convection(16, 100.0, upwind=True), ("gmres",)),
    "convection, Jacobi": Case(lambda: convection(20, 1.0, upwind=True), GENERAL, "jacobi"),
    "dominant": Case(lambda: dominant(200, 0.05, 1), GENERAL),
    "dominant, dense": Case(lambda: dominant(60, 0.8, 2), GENERAL),
    "dominant, Jacobi": Case(lambda: dominant(200, 0.05, 3), GENERAL, "jacobi"),
    "triangular": Case(lambda: sp.csr_array(sp.tril(dominant(120, 0.1, 4))), GENERAL),
    "rotation": Case(lambda: sp.csr_array(np.array([[0.0, 1.0], [-1.0, 0.0]])), ("gmres",)),
    "cycle": Case(lambda: sp.csr_array(np.roll(np.eye(20), 1, axis=0)), ("gmres",)),
    "singular, free ends": Case(lambda: neumann(60), ("cg", "minres"), b=image),
    "zero rows": Case(lambda: with_zero_rows(stencil(12, 12)), ("cg", "minres"), b=image),
    "zero rows, not symmetric": Case(lambda: with_zero_rows(convection(12, 1.0)), GENERAL, b=image),
}
