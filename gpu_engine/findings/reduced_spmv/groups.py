"""Comparison groups of the `reduced_spmv` study, and speedups over fp64 on one graph and over several."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, geometric_mean
from typing import Any

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.findings.pagerank.runs import place_of
from gpu_engine.findings.ranking import Ranking, rank
from gpu_engine.pagerank.products import BLOCKS, LAYOUTS, Block, Product
from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import compare

FULL = Product()
"""SpMV in fp64."""
PAPER_BLOCK: Block = "128"
"""Block size of the paper in bytes."""


@dataclass(frozen=True)
class ProductGroup:
    """SpMVs of a graph, or of its lower triangle, on one device.

    measurements  the fastest first, those without a time last
    """

    matrix_id: str
    device: str
    triangle: str
    measurements: tuple[Measurement, ...]

    @cached_property
    def ranking(self) -> Ranking:
        """Ranking of all SpMVs."""
        return rank(self.measurements)

    @cached_property
    def timed(self) -> dict[tuple[str, Product], Measurement]:
        """Timed measurements by (layout, product)."""
        return {Product.parse(m.kernel, m.axes): m for m in self.measurements if m.state == "ok"}

    def gain(self, layout: str, product: Product) -> float | None:
        """Return the speedup over fp64 in the same layout; None without two times."""
        return gain(self.timed.get((layout, FULL)), self.timed.get((layout, product)))


@dataclass(frozen=True, slots=True)
class Mean:
    """Geometric mean, lowest, and highest of a number over the graphs that have it.

    measurements  the measurements behind it
    """

    value: float
    low: float
    high: float
    measurements: tuple[Measurement, ...]

    @property
    def graphs(self) -> int:
        """Number of graphs."""
        return len(self.measurements)


@dataclass(frozen=True)
class Setting:
    """Graphs measured on one device: complete, or their lower triangles."""

    device: str
    triangle: str
    groups: tuple[ProductGroup, ...]

    @property
    def name(self) -> str:
        """Device, with `lower triangles` if only these ran."""
        return place_of(self.device, self.triangle)

    @cached_property
    def products(self) -> set[tuple[str, Product]]:
        """All timed (layout, product) pairs."""
        return {key for group in self.groups for key in group.timed}

    @property
    def layouts(self) -> list[str]:
        """Layouts with a timed SpMV."""
        return [layout for layout in LAYOUTS if any(timed == layout for timed, _ in self.products)]

    @property
    def blocks(self) -> list[Block]:
        """Block sizes with a timed SpMV, the smallest first, separate arrays last."""
        return [block for block in BLOCKS if any(p.segments and p.block == block for _, p in self.products)]

    @property
    def block(self) -> Block:
        """Block size of the paper if it was measured, else the first."""
        return PAPER_BLOCK if PAPER_BLOCK in self.blocks or not self.blocks else self.blocks[0]

    def gain(self, layout: str, product: Product) -> Mean | None:
        """Return the speedup over fp64 as a mean over the graphs; None if no graph has both times."""
        gains = [(gain, group) for group in self.groups if (gain := group.gain(layout, product))]
        if not gains:
            return None
        factors = [gain for gain, _ in gains]
        measurements = tuple(group.timed[layout, product] for _, group in gains)
        return Mean(geometric_mean(factors), min(factors), max(factors), measurements)

    def touched(self, layout: str, product: Product, field: str) -> float | None:
        """Return the mean over the graphs of a field of LinkProductDetails (sectors, lines); None if unknown."""
        values = [getattr(m.details, field) for group in self.groups if (m := group.timed.get((layout, product)))]
        known = [value for value in values if value is not None]
        return fmean(known) if known else None


def counting(groups: Iterable[ProductGroup]) -> list[Setting]:
    """Return the settings without graphs with noisy timings; a setting with only noisy timings keeps them."""
    all_groups = list(groups)
    plausible = group_by_setting(group for group in all_groups if not group.ranking.busy)
    by_name = {setting.name: setting for setting in plausible}
    return [by_name.get(setting.name, setting) for setting in group_by_setting(all_groups)]


@dataclass(frozen=True, slots=True)
class BlockGain:
    """Speedup of a block size over another: geometric mean over all SpMVs measured in both.

    verdicts  number of SpMVs per verdict
    """

    block: Block
    other: Block
    ratio: float
    verdicts: Counter[str]

    @property
    def products(self) -> int:
        """Number of SpMVs."""
        return sum(self.verdicts.values())

    @property
    def is_settled(self) -> bool:
        """Whether most SpMVs are faster."""
        return 2 * self.verdicts["faster"] > self.products


def product_groups(data: StudyData) -> list[ProductGroup]:
    """Return the groups in order of appearance."""
    by_key: dict[tuple[str, str, str], list[Measurement]] = {}
    for m in data.measurements:
        by_key.setdefault((m.matrix_id, m.device, m.axes.get("triangle", "full")), []).append(m)
    return [ProductGroup(*key, tuple(sorted(measurements, key=_fastest_first))) for key, measurements in by_key.items()]


def group_by_setting(groups: Iterable[ProductGroup]) -> list[Setting]:
    """Return the groups by device and triangle, in order of appearance."""
    by_setting: dict[tuple[str, str], list[ProductGroup]] = {}
    for group in groups:
        by_setting.setdefault((group.device, group.triangle), []).append(group)
    return [Setting(*where, tuple(members)) for where, members in by_setting.items()]


def best_block(setting: Setting) -> BlockGain | None:
    """Return the block size with the fastest SpMVs compared with the next one; None with fewer than two sizes."""
    comparisons = list(_by_block(setting))
    if len(setting.blocks) < 2 or not comparisons:
        return None
    first, second, *_ = sorted(
        setting.blocks, key=lambda block: geometric_mean(by_size[block].median_s for by_size in comparisons)
    )
    ratio = geometric_mean(by_size[second].median_s / by_size[first].median_s for by_size in comparisons)
    return BlockGain(
        first, second, ratio, Counter(compare(by_size[second], by_size[first]).kind for by_size in comparisons)
    )


def _by_block(setting: Setting) -> Iterator[dict[Block, Any]]:
    """Yield the measurements by block size, for each SpMV timed in all block sizes."""
    for group in setting.groups:
        for layout, product in group.timed:
            if product.segments and product.block == setting.blocks[0]:
                by_block = {block: group.timed.get((layout, replace(product, block=block))) for block in setting.blocks}
                if all(by_block.values()):
                    yield by_block


def _fastest_first(m: Measurement) -> tuple[bool, float]:
    return m.median_s is None, m.median_s or 0.0
