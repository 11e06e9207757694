"""PAPER_GRAPHS: stand-ins of the matrices of the CPMS PageRank paper, near Tables I and II.

The strict lower triangle decides both tables, so the numbering of the points is chosen as well as the graph. A rank
moves from a point to smaller neighbors until an empty row; how long such walks are decides the iterations.
"""

from collections.abc import Mapping
from typing import Any

PAPER_GRAPHS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "adaptive": ("mesh", {"nx": 2048, "ny": 3328, "colors_x": 8, "colors_y": 2}),
    "delaunay_n22": ("delaunay", {"n": 2**22, "coarse": 0.34}),
    "europe_osm": ("road", {"length": 7200, "width": 7071, "kept": 0.3058, "linked": 0.934}),
    "hugebubbles-00020": ("mesh", {"nx": 4604, "ny": 4604, "shape": "honeycomb", "shuffled": 0.595, "patch": 4}),
    "rgg_n_2_24_s0": ("rgg", {"n": 2**24, "degree": 15.8, "order": "strips", "strips": 2}),
    "road_usa": ("road", {"length": 4894, "width": 4893, "kept": 0.5232, "linked": 0.7, "shuffled": 0.43}),
    "Stanford": ("web", {"n": 281_903, "mean": 10.495, "dangling": 0.072064, "stars": 0.01}),
    "wb-edu": ("web", {"n": 9_845_725, "mean": 7.375, "dangling": 0.2971258, "stars": 0.0055}),
    "web-BerkStan": ("web", {"n": 685_230, "mean": 14.5, "dangling": 0.006923, "stars": 0.0125}),
    "web-Google": ("web", {"n": 916_428, "mean": 6.95, "dangling": 0.193113, "stars": 0.0075}),
}
"""Matrix of the CPMS PageRank paper → its synthetic stand-in, near it in nonzeros, empty rows, and iterations."""
