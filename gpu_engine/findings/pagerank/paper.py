"""Matrices of the CPMS PageRank paper, and their iterations: Tables I and II, as printed."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PaperGraph:
    """A matrix of the paper; n, nnz, and empty rows of the measured matrix: the lower triangle of a symmetric one.

    collection   name in the SuiteSparse Matrix Collection
    short        abbreviation in the paper
    family       kind of graph; the web graphs are the unsymmetric ones, which the paper uses whole
    two, four    iterations that wrote 1, 2 … segments; total: as printed, which is not always their sum
    """

    collection: str
    short: str
    family: str
    n: int
    nnz: int
    empty_rows: int
    fp64: int
    two: tuple[int, int]
    two_total: int
    four: tuple[int, int, int, int]
    four_total: int

    @property
    def name(self) -> str:
        """Name without the group: `web-Google`."""
        return self.collection.partition("/")[2]

    @property
    def is_symmetric(self) -> bool:
        """Whether the paper uses its lower triangle."""
        return self.family != "web"


GRAPHS = (
    PaperGraph(
        *("DIMACS10/adaptive", "Ada", "adaptive mesh", 6_815_744, 13_624_320, 425_984),
        *(52, (18, 34), 52, (1, 16, 34, 1), 52),
    ),
    PaperGraph(
        *("DIMACS10/delaunay_n22", "Del", "triangulation", 4_194_304, 12_582_869, 555_807),
        *(26, (12, 14), 26, (1, 11, 13, 1), 26),
    ),
    PaperGraph(
        *("DIMACS10/europe_osm", "Eur", "road network", 50_912_018, 54_054_660, 1_616_942),
        *(112, (48, 64), 113, (1, 47, 62, 3), 113),
    ),
    PaperGraph(
        *("DIMACS10/hugebubbles-00020", "Bub", "mesh of bubbles", 21_198_119, 31_790_179, 3_530_509),
        *(61, (19, 42), 61, (1, 18, 41, 1), 61),
    ),
    PaperGraph(
        *("DIMACS10/rgg_n_2_24_s0", "Rgg", "random geometric graph", 16_777_216, 132_557_200, 7_121),
        *(106, (41, 65), 106, (1, 40, 63, 2), 106),
    ),
    PaperGraph(
        *("DIMACS10/road_usa", "USA", "road network", 23_947_347, 28_854_312, 6_392_288),
        *(31, (14, 17), 32, (1, 13, 16, 2), 32),
    ),
    PaperGraph(
        *("Kamvar/Stanford", "Std", "web", 281_903, 2_312_497, 20_315),
        *(118, (51, 67), 118, (1, 50, 64, 3), 118),
    ),
    PaperGraph(
        *("Gleich/wb-edu", "edu", "web", 9_845_725, 57_156_537, 2_925_419),
        *(114, (47, 67), 115, (1, 46, 65, 3), 115),
    ),
    PaperGraph(
        *("SNAP/web-BerkStan", "Brk", "web", 685_230, 7_600_595, 4_744),
        *(119, (50, 69), 119, (1, 49, 1, 68), 119),
    ),
    PaperGraph(
        *("SNAP/web-Google", "Ggl", "web", 916_428, 5_105_039, 176_974),
        *(116, (47, 69), 116, (1, 46, 67, 2), 116),
    ),
)
"""The ten matrices of Table I in its order."""

NAMES = tuple(graph.name for graph in GRAPHS)
"""Their names without the groups."""

TOO_LARGE_IN_ELL = ("edu", "Brk", "Ggl")
"""Abbreviations of the matrices that in ELL exceed the memory of the V100 of the paper."""

MEMORY_BYTES = 16e9
"""Memory of the V100 of the paper."""

_BY_NAME = {graph.name.lower(): graph for graph in GRAPHS}


def paper_graph(name: str) -> PaperGraph | None:
    """Return the matrix of the paper that a matrix is or stands in for: `adaptive (stand-in)`; None for others."""
    return _BY_NAME.get(name.partition(" (")[0].lower())


def paper_position(name: str) -> int:
    """Return the position of a matrix in Table I, the number of its rows for one that the paper does not have."""
    graph = paper_graph(name)
    return GRAPHS.index(graph) if graph else len(GRAPHS)


def is_papers_problem(name: str, axes: Mapping[str, str]) -> bool:
    """Return whether a matrix with these non-default PageRank parameters is one that the paper measured.

    This is the lower triangle of a symmetric matrix, and all of an unsymmetric one, with or without `triangle=lower`.
    """
    graph = paper_graph(name)
    others = {parameter: value for parameter, value in axes.items() if parameter != "triangle"}
    return graph is not None and not others and not (graph.is_symmetric and axes.get("triangle") != "lower")
