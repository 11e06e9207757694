"""Small graphs whose ranks were worked out by hand, with δ = 1/2."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.pagerank import PageRankParams
from gpu_engine.parameters import parse_params
from tests.battery import coo, dense


@dataclass(frozen=True)
class Worked:
    """An adjacency matrix, options besides δ = 1/2, and the ranks as numerators over one denominator."""

    adjacency: CsrMatrix
    options: dict[str, Any]
    numerators: tuple[int, ...]
    denominator: int

    @property
    def params(self) -> PageRankParams:
        return parse_params(PageRankParams, {"damping": 0.5, "epsilon": 1e-15, **self.options})

    @property
    def ranks(self) -> list[float]:
        return [float(Fraction(numerator, self.denominator)) for numerator in self.numerators]


TRIANGLE = dense([[0, 1, 1], [0, 0, 1], [1, 0, 0]])
"""0 → 1, 0 → 2, 1 → 2, 2 → 0."""

WEIGHTED = dense([[0, 3, 1], [0, 0, 5], [2, 0, 0]])
"""The triangle with weights."""

TWO_PARTS = dense([[0, 7, 0, 0], [0, -7, 0, 0], [0, 0, 0, 7], [0, 0, 0, 0]])
"""0 → 1, 1 → 1; apart from them 2 → 3, and 3 has no link. Values that are no weights are links all the same."""

PATH = dense([[0, 2, 0], [2, 0, 2], [0, 2, 0]])
"""0 – 1 – 2, symmetric."""

ZERO_WEIGHTS = coo(3, 3, [0, 0, 1], [1, 2, 0], [4.0, 0.0, 0.0])
"""0 → 1 with weight 4; 0 → 2 and 1 → 0 are explicit zeros."""

NO_LINKS = coo(5, 5, [], [], [])

WORKED = {
    "triangle": Worked(TRIANGLE, {}, (14, 10, 15), 39),
    "triangle, weights ignored": Worked(WEIGHTED, {}, (14, 10, 15), 39),
    "triangle, weights used": Worked(WEIGHTED, {"weights": "use"}, (28, 24, 29), 81),
    "two parts, teleport": Worked(TWO_PARTS, {}, (2, 6, 2, 3), 13),
    "two parts, ignore": Worked(TWO_PARTS, {"dangling": "ignore"}, (2, 6, 2, 3), 16),
    "two parts, as printed": Worked(TWO_PARTS, {"dangling": "as printed"}, (2, 6, 2, 3), 10),
    "two parts, loop dropped": Worked(TWO_PARTS, {"self_loops": "drop"}, (2, 3, 2, 3), 10),
    "two parts have no lower triangle": Worked(TWO_PARTS, {"triangle": "lower"}, (2, 6, 2, 3), 13),
    "path": Worked(PATH, {}, (5, 8, 5), 18),
    "path, lower triangle": Worked(PATH, {"triangle": "lower"}, (7, 6, 4), 17),
    "explicit zeros are links": Worked(ZERO_WEIGHTS, {}, (6, 5, 5), 16),
    "explicit zeros weigh nothing": Worked(ZERO_WEIGHTS, {"weights": "use"}, (2, 3, 2), 7),
    "one page": Worked(coo(1, 1, [], [], []), {}, (1,), 1),
    "one page, lost": Worked(coo(1, 1, [], [], []), {"dangling": "ignore"}, (1,), 2),
    "one page, its own link": Worked(dense([[1]]), {}, (1,), 1),
    "no links": Worked(NO_LINKS, {}, (1, 1, 1, 1, 1), 5),
    "no links, lost": Worked(NO_LINKS, {"dangling": "ignore"}, (1, 1, 1, 1, 1), 10),
    "no pages": Worked(coo(0, 0, [], [], []), {}, (), 1),
}
