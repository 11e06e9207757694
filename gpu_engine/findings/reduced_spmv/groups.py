"""Products that were sampled together, and what reading less gains over fp64: of one graph, and over several."""

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
PAPER_BLOCK: Block = "128"


@dataclass(frozen=True)
class ProductGroup:
    """The products of a graph, or of its lower triangle, on one device.

    measurements  the fastest first, then those without a time
    """

    matrix_id: str
    device: str
    triangle: str
    measurements: tuple[Measurement, ...]

    @cached_property
    def ranking(self) -> Ranking:
        """All products, however much they read."""
        return rank(self.measurements)

    @cached_property
    def timed(self) -> dict[tuple[str, Product], Measurement]:
        """Those with a time, by layout and product."""
        return {Product.parse(m.kernel, m.axes): m for m in self.measurements if m.state == "ok"}

    def gain(self, layout: str, product: Product) -> float | None:
        """How many times as fast as in fp64 in the same layout."""
        return gain(self.timed.get((layout, FULL)), self.timed.get((layout, product)))


@dataclass(frozen=True, slots=True)
class Mean:
    """A number over the graphs that have it: the geometric mean, the lowest and the highest.

    measurements  those behind it
    """

    value: float
    low: float
    high: float
    measurements: tuple[Measurement, ...]

    @property
    def graphs(self) -> int:
        """How many have it."""
        return len(self.measurements)


@dataclass(frozen=True)
class Place:
    """The graphs that were measured on one device, all of each or the lower triangles."""

    device: str
    triangle: str
    groups: tuple[ProductGroup, ...]

    @property
    def name(self) -> str:
        """The device, and what of the graphs is not usual."""
        return place_of(self.device, self.triangle)

    @cached_property
    def products(self) -> set[tuple[str, Product]]:
        """What has a time somewhere."""
        return {key for group in self.groups for key in group.timed}

    @property
    def layouts(self) -> list[str]:
        """Those in which something has a time."""
        return [layout for layout in LAYOUTS if any(own == layout for own, _ in self.products)]

    @property
    def blocks(self) -> list[Block]:
        """Those in which something has a time, the smallest first, separate arrays last."""
        return [block for block in BLOCKS if any(own.segments and own.block == block for _, own in self.products)]

    @property
    def block(self) -> Block:
        """The paper's where it was measured, else the first."""
        return PAPER_BLOCK if PAPER_BLOCK in self.blocks or not self.blocks else self.blocks[0]

    def gain(self, layout: str, product: Product) -> Mean | None:
        """How many times as fast as in fp64; None where no graph has both times."""
        gains = [(gain, group) for group in self.groups if (gain := group.gain(layout, product))]
        if not gains:
            return None
        factors = [gain for gain, _ in gains]
        measurements = tuple(group.timed[layout, product] for _, group in gains)
        return Mean(geometric_mean(factors), min(factors), max(factors), measurements)

    def touched(self, layout: str, product: Product, field: str) -> float | None:
        """The mean over the graphs of what a warp touches, a field of LinkProductDetails; None where none says it."""
        found = [getattr(m.details, field) for group in self.groups if (m := group.timed.get((layout, product)))]
        known = [value for value in found if value is not None]
        return fmean(known) if known else None


def counting(groups: Iterable[ProductGroup]) -> list[Place]:
    """Return the places of the graphs on which the machine was not busy; a place of none but busy ones has these."""
    every = list(groups)
    quiet = {place.name: place for place in places(group for group in every if not group.ranking.busy)}
    return [quiet.get(place.name, place) for place in places(every)]


@dataclass(frozen=True, slots=True)
class BlockGain:
    """A block over another, in the geometric mean of all products that were measured in both.

    verdicts  how many of these are faster, same, slower and inconclusive
    """

    block: Block
    other: Block
    ratio: float
    verdicts: Counter[str]

    @property
    def products(self) -> int:
        """How many there are."""
        return sum(self.verdicts.values())

    @property
    def is_settled(self) -> bool:
        """Whether most of them are faster."""
        return 2 * self.verdicts["faster"] > self.products


def product_groups(data: StudyData) -> list[ProductGroup]:
    """The groups in order of appearance."""
    found: dict[tuple[str, str, str], list[Measurement]] = {}
    for m in data.measurements:
        found.setdefault((m.matrix_id, m.device, m.axes.get("triangle", "full")), []).append(m)
    return [ProductGroup(*place, tuple(sorted(own, key=_fastest_first))) for place, own in found.items()]


def places(groups: Iterable[ProductGroup]) -> list[Place]:
    """The groups by device and part, in order of appearance."""
    found: dict[tuple[str, str], list[ProductGroup]] = {}
    for group in groups:
        found.setdefault((group.device, group.triangle), []).append(group)
    return [Place(*where, tuple(own)) for where, own in found.items()]


def best_block(place: Place) -> BlockGain | None:
    """The block with the fastest products beside the next one; None where there are not two."""
    every = list(_by_block(place))
    if len(place.blocks) < 2 or not every:
        return None
    first, second, *_ = sorted(place.blocks, key=lambda block: geometric_mean(own[block].median_s for own in every))
    ratio = geometric_mean(own[second].median_s / own[first].median_s for own in every)
    return BlockGain(first, second, ratio, Counter(compare(own[second], own[first]).kind for own in every))


def _by_block(place: Place) -> Iterator[dict[Block, Any]]:
    """The measurements of a product by the block, of each that has a time in all blocks."""
    for group in place.groups:
        for layout, product in group.timed:
            if product.segments and product.block == place.blocks[0]:
                found = {block: group.timed.get((layout, replace(product, block=block))) for block in place.blocks}
                if all(found.values()):
                    yield found


def _fastest_first(m: Measurement) -> tuple[bool, float]:
    return m.median_s is None, m.median_s or 0.0
