"""Whether fewer bits speed up one SpMV: speedups over fp64 in the same layout, per graph."""

from gpu_engine.findings.pagerank.adaptive import Pair, Tally
from gpu_engine.findings.pagerank.runs import Run
from gpu_engine.findings.reduced_spmv.groups import FULL, ProductGroup, Setting
from gpu_engine.pagerank.products import OPERANDS, Operands, Product


def product(setting: Setting, segments: int, operands: Operands = "both") -> Product:
    """Return the SpMV that reads the first of 2 or 4 segments, in blocks as in the paper."""
    return Product(segments, 1, operands, setting.block)


def pair(group: ProductGroup, layout: str, reduced: Product) -> Pair | None:
    """Return an SpMV on one graph with that in fp64; None without two times, or if the timings are too noisy."""
    full, other, gain = (
        group.timed.get((layout, FULL)),
        group.timed.get((layout, reduced)),
        group.gain(layout, reduced),
    )
    known = full and other and gain and not group.ranking.busy
    return Pair(Run(full), Run(other), gain) if known and full and other and gain else None


def tally(setting: Setting, layout: str, reduced: Product) -> Tally | None:
    """Return the pairs of all graphs; None without any."""
    pairs = tuple(each for group in setting.groups if (each := pair(group, layout, reduced)))
    return Tally(pairs) if pairs else None


def tallies(setting: Setting, layout: str, segments: int) -> dict[Operands, Tally]:
    """Return the tallies by operands in fewer bits."""
    made = ((operands, tally(setting, layout, product(setting, segments, operands))) for operands in OPERANDS)
    return {operands: each for operands, each in made if each}
