"""Parameters of small matrices of every family: with as many cases as the family has turns."""

from typing import Any

from gpu_engine.generators import find_generator

SMALL: dict[str, list[dict[str, Any]]] = {
    "stencil": [
        {"points": 5, "nx": 7, "ny": 4},
        {"points": 9, "nx": 1, "ny": 1},
        {"points": 7, "nx": 1, "ny": 5, "nz": 3},
        {"points": 27, "nx": 2, "ny": 3, "nz": 4},
    ],
    "fem": [{"nx": 1, "ny": 1, "nz": 1, "block": 4}, {"nx": 3, "ny": 2, "nz": 4, "block": 2, "values": "ones"}],
    "delaunay": [{"n": 4}, {"n": 500}, {"n": 500, "part": "lower", "values": "ones"}, {"n": 300, "coarse": 0.3}],
    "rgg": [
        {"n": 2, "degree": 0.5},
        {"n": 600},
        {"n": 600, "degree": 3.0, "values": "ones"},
        {"n": 300, "part": "lower"},
        {"n": 300, "order": "strips", "strips": 2},
    ],
    "road": [
        {"length": 1, "width": 1},
        {"length": 60, "width": 1},
        {"length": 50, "width": 7, "part": "lower"},
        {"kept": 0.0},
        {"length": 1, "width": 30, "kept": 0.2, "linked": 1.0},
        {"length": 30, "width": 20, "kept": 0.4, "linked": 0.8, "shuffled": 0.5},
    ],
    "mesh": [
        {"nx": 1, "ny": 1},
        {"nx": 9, "ny": 7, "colors_x": 4, "colors_y": 3},
        {"nx": 10, "ny": 8, "shape": "honeycomb", "part": "lower", "values": "ones"},
        {"nx": 20, "ny": 9, "shape": "honeycomb", "colors_x": 2, "shuffled": 0.5, "patch": 3},
    ],
    "rmat": [{"scale": 1}, {"scale": 9, "shuffled": True}, {"scale": 3, "edge_factor": 200}],
    "web": [
        {"n": 2, "mean": 1.0, "max_length": 2},
        {"n": 3000, "host": 7},
        {"n": 2000, "local": 0.0},
        {"n": 2001, "dangling": 0.3, "stars": 0.2},
        {"n": 1000, "stars": 1.0, "host": 9, "transposed": True},
    ],
    "powerlaw": [
        {"n": 1, "mean": 1.0, "max_length": 1},
        {"n": 3000, "max_length": 3000, "exponent": 1.1, "mean": 40.0},
        {"n": 2000, "max_length": 100, "exponent": 2.0, "mean": 0.5},
        {"n": 50, "max_length": 50, "mean": 50.0},
        {"n": 500, "max_length": 200, "columns": "powerlaw"},
    ],
    "rows": [
        {"n": 400, "max_length": 400, "lengths": lengths}
        for lengths in ("constant", "lognormal", "exponential", "powerlaw")
    ],
    "dense_rows": [{"n": 3, "dense": 3, "mean": 0.0}, {"n": 300, "mean": 0.0}, {"n": 300, "dense": 0}],
    "two_level": [{"n": 600}, {"n": 300, "ratio": 1.0, "values": "ones"}, {"n": 9, "mean": 2.0, "share": 1.0}],
    "stratified": [
        {"n": 1, "mean": 1.0, "max_length": 1},
        {"n": 3000, "max_length": 3000, "exponent": 1.1, "mean": 40.0, "seed": 2**32 - 1},
        {"n": 2000, "max_length": 100, "exponent": 2.0, "mean": 0.5, "values": "ones"},
        {"n": 50, "max_length": 50, "mean": 50.0},
    ],
    "linear_program": [
        {"constraints": 1, "variables": 1, "mean": 1.0, "blocks": 1},
        {"constraints": 300, "variables": 700, "blocks": 7, "coupling": 3},
        {"constraints": 40, "variables": 60, "blocks": 2, "form": "kkt", "values": "ones"},
        {"constraints": 200, "variables": 50, "blocks": 90, "mean": 1.0, "coupling": 0},
        {"constraints": 9, "variables": 90, "blocks": 1, "coupling": 9, "fill": 1.0},
    ],
    "rectangular": [
        {"n_rows": 1, "n_cols": 1, "mean": 1.0},
        {"n_rows": 900, "n_cols": 40},
        {"n_rows": 7, "n_cols": 5000, "mean": 800.0, "sigma": 900.0, "values": "ones"},
        {"n_rows": 50, "n_cols": 60, "sigma": 0.0},
    ],
    "circuit": [
        {"n": 1, "rails": 0},
        {"n": 500, "reach": 4.0},
        {"n": 80, "degree": 0.0, "rails": 1, "fill": 1.0, "values": "ones"},
        {"n": 5, "rails": 5, "fill": 0.5},
    ],
    "convection": [
        {"nx": 1, "ny": 1},
        {"nx": 12, "ny": 7},
        {"nx": 5, "ny": 4, "nz": 3, "peclet": 0.5, "scheme": "central"},
        {"nx": 3, "ny": 1, "nz": 40, "peclet": 1e4},
    ],
}
CALLS = [(name, params) for name, calls in SMALL.items() for params in calls]
BY_ROWS = [call for call in CALLS if find_generator(call[0]).by_rows]
