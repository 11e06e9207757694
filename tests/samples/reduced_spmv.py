"""Products in segments as the study yields them, made up: times that tests can name."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.pagerank.graph import Part
from gpu_engine.pagerank.products import LAYOUTS, Block, LinkProductDetails, Product, products_in
from gpu_engine.records import Measurement

GRAPHS = {
    "lux": MatrixFeatures("luxembourg_osm", 114_599, 114_599, 239_332, 2.09, 0.41, 5.0, 0),
    "del": MatrixFeatures("delaunay_n15", 32_768, 32_768, 196_548, 6.0, 1.35, 15.0, 0),
}

FULL_S = {"csr/thread": 1e-3, "ell/thread": 0.8e-3}
"""Of the product in fp64."""

BOTH = {(2, 1): 1.6, (2, 2): 0.9, (4, 1): 1.25, (4, 2): 1.1, (4, 3): 0.95, (4, 4): 0.8}
"""(segments, read) → speed-up where both operands are in segments of 128 bytes; of one operand a part of it."""

PART = {"both": 1.0, "A": 0.6, "p": 0.2}

SLOWER: dict[Block, float] = {"32": 1.1, "64": 1.0, "128": 1.0, "256": 1.0, "separate": 1.25}
"""Times as long as in blocks of 128 bytes."""


def multiplied(
    product: Product,
    layout: str = "csr/thread",
    matrix: str = "lux",
    device: str = "cuda:0",
    gain: float = 0.0,
    triangle: Part = "full",
    **fields: Any,
) -> Measurement:
    """A product so many times as fast as in fp64; without a gain as much as the tables above say."""
    gain = gain or gain_of(product)
    time = FULL_S[layout] / gain
    own = product.segments and product.of_ranks
    values: dict[str, Any] = {
        "median_s": time,
        "ci_low_s": time * 0.998,
        "min_s": time * 0.997,
        "q1_s": time * 0.998,
        "q3_s": time * 1.002,
        "ci_high_s": time * 1.002,
        "gflops": 2e-9 * 239_332 / time,
        "roofline_s": time / 2,
        "stored_bytes": 4_000_000,
        "aa_gap": 0.001,
        "sectors_of_ranks": float(16 * (own or 1)),
        "lines_of_ranks": float(12 * (own if own and product.block not in ("32", "64") else 1)),
        "sectors_of_values": 8.0,
        "lines_of_values": 2.0,
    }
    return Measurement.of(product.case(matrix, layout, triangle), device, LinkProductDetails, **(values | fields))


def gain_of(product: Product) -> float:
    """By the tables above."""
    if not product.segments:
        return 1.0
    full = BOTH[product.segments, product.read]
    return (1.0 + (full - 1.0) * PART[product.operands]) / SLOWER[product.block]


def refused(note: str, layout: str = "ell/thread", matrix: str = "lux", device: str = "cuda:0") -> list[Measurement]:
    """All products of a layout that does not fit."""
    cases = (product.case(matrix, layout) for product in products_in(("128", "separate")))
    return [Measurement.of(case, device, LinkProductDetails, "skipped", note=note) for case in cases]


def every(
    matrix: str = "lux",
    device: str = "cuda:0",
    blocks: Sequence[Block] = ("128", "separate"),
    layouts: Sequence[str] = LAYOUTS,
    gains: Mapping[tuple[str, Product], float] | None = None,
    **fields: Any,
) -> list[Measurement]:
    """All products of a graph in both layouts; gains: of those that are not as the tables above say."""
    other = gains or {}
    return [
        multiplied(product, layout, matrix, device, other.get((layout, product), 0.0), **fields)
        for layout in layouts
        for product in products_in(blocks)
    ]


def shown(*measurements: Measurement, **choices: Any) -> StudyData:
    """What findings and figures are made of."""
    return StudyData(measurements, GRAPHS, **choices)
