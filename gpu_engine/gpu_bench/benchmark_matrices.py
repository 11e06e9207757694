"""SUBJECTS: the benchmark matrices, in groups that are evaluated separately."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from gpu_engine.findings.formats.paper import MATRICES as PELLR_MATRICES
from gpu_engine.findings.pagerank.paper import GRAPHS as PAGERANK_GRAPHS
from gpu_engine.gpu_bench.paper_graphs import PAPER_GRAPHS
from gpu_engine.recordings.files import collected, generated

Group = Literal[
    "families",
    "pattern",
    "row lengths",
    "collection",
    "paper formats",
    "small",
    "held out",
    "unfitted class",
    "graph",
    "paper graph",
    "batch random",
    "batch balanced",
    "batch few rows",
    "batch paper",
    "shared",
    "shared skewed",
    "shared ratio",
    "shared paper",
    "shared parts",
    "shared links",
    "shared systems",
    "definite",
    "unsymmetric",
    "convection",
    "columns",
]


STAND_IN = " (stand-in)"
"""Suffix of the name of a synthetic stand-in."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A benchmark matrix.

    name    name in tables and records
    group   `families`: eleven with random values; `pattern`: their graphs, with all values 1; `row lengths`: for PELLR
            against ELLR; `collection`: real ones; `paper formats`: further ones of the PELLR paper; `small`: generated
            ones of at most some 10⁵ nonzeros, to fit launch costs; `held out`: generated ones, not used to fit the
            advisor; `unfitted class`: classes not used to fit it; `graph`: for PageRank; `paper graph`: of its paper;
            `batch …`: small ones, random, with equal rows, with few nonempty rows, and of the batched SpMV paper;
            `shared`: large ones for several devices; `shared skewed`: equal rows have unequal nonzeros; `shared ratio`:
            two row lengths; `shared paper`: of the MSREP paper; `shared parts`: partitions are generated on the
            devices; `shared links`: graphs with few links; `definite`, `unsymmetric`: for systems that are solved;
            `convection`: systems as they are; `columns`: for dense matrices of several columns
    source    `generated(…)` or `collected(…)`
    orders    reorderings to measure as well
    stand_in  source of a synthetic stand-in, which is measured if the matrix is not available
    """

    name: str
    group: Group
    source: Mapping[str, Any]
    orders: tuple[str, ...] = ()
    stand_in: Mapping[str, Any] | None = None

    @property
    def substitute(self) -> "Subject | None":
        """Stand-in as a benchmark matrix, with a name that says so, or None."""
        if self.stand_in is None:
            return None
        return replace(self, name=self.name + STAND_IN, source=self.stand_in, stand_in=None)

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, and the name of its stand-in if it has one."""
        return (self.name,) if self.substitute is None else (self.name, self.substitute.name)

    @property
    def is_in_parts(self) -> bool:
        """True if the devices generate their partitions, so that the whole matrix exists nowhere."""
        return self.group == "shared parts"

    @property
    def is_natural(self) -> bool:
        """True for one of the families with realistic values, which are 1 for a graph."""
        is_graph = self.source.get("generator") in GRAPHS
        return self.group == "pattern" or (self.group == "families" and not is_graph)


FAMILIES: tuple[tuple[str, str, dict[str, Any], tuple[str, ...]], ...] = (
    ("del20", "delaunay", {"n": 2**20, "part": "lower"}, ("rcm",)),
    ("del22", "delaunay", {"n": 2**22, "part": "lower"}, ("rcm",)),
    ("rgg20", "rgg", {"n": 2**20, "degree": 13.1, "order": "strips", "part": "lower"}, ()),
    ("rgg22", "rgg", {"n": 2**22, "degree": 14.5, "order": "strips", "part": "lower"}, ()),
    ("road16m", "road", {"length": 4096, "width": 4096, "kept": 0.6, "part": "lower"}, ()),
    ("st27", "stencil", {"points": 27, "nx": 128, "ny": 128, "nz": 128}, ()),
    ("fem3", "fem", {"block": 3, "nx": 64, "ny": 64, "nz": 64}, ()),
    ("web1m", "web", {"n": 2**20, "mean": 7.0, "max_length": 1000, "transposed": True}, ("degree",)),
    ("web10m", "web", {"n": 10_000_000, "mean": 5.2, "max_length": 1000, "transposed": True}, ("degree",)),
    ("rmat20", "rmat", {"scale": 20, "edge_factor": 16, "shuffled": True}, ("degree", "rcm")),
    (
        "gene",
        "powerlaw",
        {"n": 45_000, "mean": 430.0, "exponent": 1.6, "max_length": 8000, "columns": "powerlaw"},
        (),
    ),
)
"""(name, generator, parameters, reorderings) of the eleven matrices with random values."""

GRAPHS = ("delaunay", "rgg", "road", "mesh", "web", "rmat")
"""Generators of adjacency matrices, whose realistic values are all 1."""

ROW_LENGTHS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("exponential-16", {"lengths": "exponential", "mean": 16.0}),
    ("exponential-48", {"lengths": "exponential", "mean": 48.0}),
    ("lognormal-16", {"lengths": "lognormal", "mean": 16.0, "sigma": 16.0, "max_length": 1000}),
    ("lognormal-16-wide", {"lengths": "lognormal", "mean": 16.0, "sigma": 32.0, "max_length": 1000}),
    ("lognormal-48", {"lengths": "lognormal", "mean": 48.0, "sigma": 48.0, "max_length": 1000}),
)

COLLECTED = (
    "LAW/cnr-2000",
    "AG-Monien/wave",
    "SNAP/email-Enron",
    "DIMACS10/rgg_n_2_15_s0",
    "HB/bcsstk16",
    "UTEP/Dubcova1",
    "HB/bcsstk25",
    "DIMACS10/luxembourg_osm",
    "DIMACS10/delaunay_n15",
    "HB/bcsstk24",
    "Hamm/memplus",
    "SNAP/wiki-Vote",
    "Bai/qh1484",
    "HB/lnsp3937",
)
"""Matrices of the SuiteSparse Matrix Collection; four of the last ones are also in the PELLR paper."""

PAPER_FORMATS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("bcsstk24", "rows", {"n": 3562, "mean": 47.5, "sigma": 17.0, "max_length": 57}),
    ("memplus", "rows", {"n": 17_758, "mean": 7.3, "sigma": 27.0, "max_length": 574}),
    ("qh1484", "rows", {"n": 1484, "mean": 4.1, "sigma": 1.6, "max_length": 13}),
    ("lnsp3937", "rows", {"n": 3937, "mean": 6.8, "sigma": 4.0, "max_length": 11}),
    ("cavity25", "rows", {"n": 4562, "mean": 31.0, "sigma": 17.0, "max_length": 62}),
    ("e40r5000", "rows", {"n": 17_281, "mean": 33.0, "sigma": 18.0, "max_length": 62}),
    ("dw2048", "stencil", {"points": 5, "nx": 64, "ny": 32}),
    ("s3dkt3m2", "fem", {"block": 5, "nx": 134, "ny": 135, "nz": 1}),
    ("msc23052", "rows", {"n": 23_052, "mean": 50.1, "sigma": 20.0, "max_length": 178}),
    ("bcsstk36", "rows", {"n": 23_052, "mean": 49.8, "sigma": 20.0, "max_length": 178, "seed": 1}),
    ("mhd4800b", "rows", {"n": 4800, "mean": 5.75, "sigma": 2.1, "max_length": 10}),
    ("boneS01", "fem", {"block": 2, "nx": 40, "ny": 40, "nz": 40}),
)
"""Matrices of the PELLR paper: name in the paper, and a synthetic stand-in."""

SMALL = ("qh1484", "lnsp3937")
"""Matrices with fewer than 10⁵ nonzeros, which are shown in figures but not in geometric means."""

FEW: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("plane-5-small", "stencil", {"points": 5, "nx": 150, "ny": 120}),
    ("space-27-small", "stencil", {"points": 27, "nx": 24, "ny": 24, "nz": 24}),
    ("fem3-small", "fem", {"block": 3, "nx": 11, "ny": 11, "nz": 11}),
    ("fem6-small", "fem", {"block": 6, "nx": 6, "ny": 6, "nz": 6}),
    ("del16-small", "delaunay", {"n": 2**16, "seed": 3}),
    ("rgg14-small", "rgg", {"n": 2**14, "degree": 18.0, "seed": 3}),
    ("road-small", "road", {"length": 300, "width": 300, "seed": 3}),
    ("web-small", "web", {"n": 60_000, "mean": 8.0, "seed": 3}),
    ("web-400k", "web", {"n": 400_000, "mean": 9.0, "seed": 3}),
    ("rmat-13", "rmat", {"scale": 13, "edge_factor": 16, "seed": 3}),
    ("rmat-16", "rmat", {"scale": 16, "edge_factor": 8, "seed": 3}),
    ("powerlaw-small", "powerlaw", {"n": 20_000, "mean": 9.0, "seed": 3}),
    ("exponential-small", "rows", {"n": 25_000, "lengths": "exponential", "mean": 10.0, "seed": 3}),
    ("lognormal-small", "rows", {"n": 12_000, "lengths": "lognormal", "mean": 30.0, "sigma": 30.0, "seed": 3}),
    ("constant-small", "rows", {"n": 30_000, "lengths": "constant", "mean": 16.0, "seed": 3}),
    ("dense-rows-small", "dense_rows", {"n": 18_000, "dense": 4, "mean": 5.0, "seed": 3}),
)

HELD_OUT: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("plane-5", "stencil", {"points": 5, "nx": 2000, "ny": 1500}),
    ("plane-9", "stencil", {"points": 9, "nx": 900, "ny": 900}),
    ("space-7", "stencil", {"points": 7, "nx": 150, "ny": 150, "nz": 150}),
    ("space-27", "stencil", {"points": 27, "nx": 60, "ny": 60, "nz": 60}),
    ("fem1", "fem", {"block": 1, "nx": 80, "ny": 80, "nz": 80}),
    ("fem6", "fem", {"block": 6, "nx": 26, "ny": 26, "nz": 26}),
    ("del18-full", "delaunay", {"n": 2**18, "seed": 7}),
    ("rgg19-full", "rgg", {"n": 2**19, "degree": 24.0, "seed": 7}),
    ("road4m-full", "road", {"length": 2000, "width": 2000, "seed": 7}),
    ("web3m", "web", {"n": 3_000_000, "mean": 11.0, "seed": 7}),
    ("web200k-dense", "web", {"n": 200_000, "mean": 40.0, "local": 0.5, "seed": 7}),
    ("rmat18-32", "rmat", {"scale": 18, "edge_factor": 32, "seed": 7}),
    ("rmat21-6", "rmat", {"scale": 21, "edge_factor": 6, "seed": 7}),
    ("powerlaw-2.1", "powerlaw", {"n": 1_000_000, "mean": 12.0, "seed": 7}),
    ("powerlaw-1.8", "powerlaw", {"n": 300_000, "mean": 60.0, "exponent": 1.8, "columns": "powerlaw", "seed": 7}),
    ("constant-8", "rows", {"n": 1_500_000, "lengths": "constant", "mean": 8.0, "seed": 7}),
    ("exponential-6", "rows", {"n": 2_000_000, "lengths": "exponential", "mean": 6.0, "seed": 7}),
    ("lognormal-30", "rows", {"n": 200_000, "lengths": "lognormal", "mean": 30.0, "sigma": 60.0, "seed": 7}),
    ("dense-rows", "dense_rows", {"n": 1_000_000, "dense": 6, "mean": 5.0, "seed": 7}),
)

UNFITTED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("lp-93k", "linear_program", {"constraints": 93_000, "variables": 93_000, "fill": 0.95}),
    ("lp-12k", "linear_program", {"constraints": 12_000, "variables": 15_000, "mean": 8.0, "fill": 0.97}),
    ("lp-five-dense", "linear_program", {"coupling": 5}),
    ("lp-plain", "linear_program", {"constraints": 100_000, "variables": 150_000, "mean": 6.0, "coupling": 0}),
    ("qp-50k", "linear_program", {"constraints": 20_000, "variables": 30_000, "mean": 6.0, "form": "kkt"}),
    (
        "qp-450k",
        "linear_program",
        {"constraints": 200_000, "variables": 250_000, "mean": 5.0, "coupling": 2, "form": "kkt"},
    ),
    ("rectangular-tall", "rectangular", {"n_rows": 200_000, "n_cols": 20_000}),
    ("rectangular-thin", "rectangular", {"n_rows": 2_000_000, "n_cols": 500, "mean": 4.0, "sigma": 2.0}),
    ("rectangular-wide", "rectangular", {"n_rows": 20_000, "n_cols": 400_000, "mean": 40.0, "sigma": 40.0}),
    ("rectangular-flat", "rectangular", {"n_rows": 300, "n_cols": 1_000_000, "mean": 5000.0, "sigma": 2500.0}),
    ("circuit-95k", "circuit", {"n": 20_000, "degree": 3.15}),
    ("circuit-170k", "circuit", {"n": 170_000, "degree": 4.0, "rails": 4, "fill": 0.3}),
    ("circuit-1m", "circuit", {"n": 1_000_000, "degree": 3.5, "rails": 1, "fill": 0.02}),
    ("circuit-no-rails", "circuit", {"n": 120_000, "rails": 0}),
    ("arrow-30k", "circuit", {"n": 30_000, "degree": 0.0, "rails": 1, "fill": 1.0}),
    ("arrow-300k", "circuit", {"n": 300_000, "degree": 0.0, "rails": 1, "fill": 1.0}),
    (
        "social-100k",
        "powerlaw",
        {"n": 100_000, "mean": 14.0, "exponent": 2.0, "max_length": 20_000, "columns": "powerlaw"},
    ),
    (
        "social-1m",
        "powerlaw",
        {"n": 1_000_000, "mean": 9.0, "exponent": 1.9, "max_length": 60_000, "columns": "powerlaw"},
    ),
    ("lp-1m", "linear_program", {"constraints": 1_000_000, "variables": 1_200_000, "mean": 8.0, "coupling": 2}),
)
"""Classes not used to fit the advisor: linear and quadratic programs, rectangular, circuits, arrows, social graphs."""


def _families() -> Iterable[Subject]:
    for name, generator, params, orders in FAMILIES:
        yield Subject(name, "families", generated(generator, params), orders)
    for name, generator, params, _ in FAMILIES:
        if generator in GRAPHS:
            yield Subject(f"{name}, ones", "pattern", generated(generator, params | {"values": "ones"}))


LARGE_GRAPHS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("road50m", "road", {"length": 7200, "width": 7000, "kept": 0.6, "part": "lower", "values": "ones"}),
)
"""Graphs of 50 million pages; their first segments need the memory of half as many fp64 values."""


def _graphs() -> Iterable[Subject]:
    for name, generator, params, _ in FAMILIES:
        if generator == "web":
            yield Subject(
                f"{name}, links", "graph", generated(generator, params | {"values": "ones", "transposed": False})
            )
        elif generator in GRAPHS:
            yield Subject(f"{name}, ones", "graph", generated(generator, params | {"values": "ones"}))
        elif generator != "powerlaw":
            yield Subject(name, "graph", generated(generator, params))
    for name, generator, params in LARGE_GRAPHS:
        yield Subject(name, "graph", generated(generator, params))
    yield Subject("cnr-2000", "graph", collected("LAW/cnr-2000"))


def _paper_graphs() -> Iterable[Subject]:
    for graph in PAGERANK_GRAPHS:
        generator, params = PAPER_GRAPHS[graph.name]
        stand_in = generated(generator, params | {"values": "ones"})
        yield Subject(graph.name, "paper graph", collected(graph.collection), stand_in=stand_in)


def _collection() -> Iterable[Subject]:
    stand_ins = {PELLR_MATRICES[name]: generated(generator, params) for name, generator, params in PAPER_FORMATS}
    for name in dict.fromkeys((*COLLECTED, *stand_ins)):
        group: Group = "collection" if name in COLLECTED else "paper formats"
        yield Subject(name.partition("/")[2], group, collected(name), stand_in=stand_ins.get(name))


GRAPH_SUBJECTS: tuple[Subject, ...] = (*_graphs(), *_paper_graphs())
"""Graphs of the study `pagerank`; a row is a source."""

SUBJECTS: tuple[Subject, ...] = (
    *_families(),
    *(Subject(name, "row lengths", generated("rows", {"n": 2**20} | params)) for name, params in ROW_LENGTHS),
    *_collection(),
    *(Subject(name, "small", generated(generator, params)) for name, generator, params in FEW),
    *(Subject(name, "held out", generated(generator, params)) for name, generator, params in HELD_OUT),
    *(Subject(name, "unfitted class", generated(generator, params)) for name, generator, params in UNFITTED),
)
