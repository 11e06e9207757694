"""Products y = Aᵀ·p that read k segments of the values, of p, or of both, in blocks of several sizes: what each costs.

Source: CPMS PageRank paper, §V and Fig. 4, whose products read both in blocks of 128 bytes; arrays of their own for
segments are what its §IV.A departs from.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from gpu_engine import cpms
from gpu_engine.cpms.layout import BLOCK_BYTES, SEGMENTS, SEPARATE, Segmented
from gpu_engine.cuda.load import CudaSource, digest
from gpu_engine.errors import KernelError
from gpu_engine.experiment import Candidate, Experiment, Fields
from gpu_engine.formats.base import array_module, check_room
from gpu_engine.measure import Bench, Rounds, Timing
from gpu_engine.pagerank.cuda_pulls import PULLS, pointer_of
from gpu_engine.pagerank.granules import LINE_BYTES, SECTOR_BYTES, granules_per_load, loads_of_warps
from gpu_engine.pagerank.graph import TransitionMatrix
from gpu_engine.records import Cache, Case, Details, described

LAYOUTS = ("csr/thread", "ell/thread")
BLOCKS = (32, 64, BLOCK_BYTES, 256, SEPARATE)
MANTISSA_BITS = 52

Operands = Literal["both", "A", "p"]
OPERANDS: tuple[Operands, ...] = ("both", "A", "p")
"""What is in segments; the other operand is in fp64. y is stored as p is."""


@dataclass(frozen=True, slots=True)
class LinkProductDetails(Details):
    """What the measurement of a product says beside what all say."""

    study: ClassVar[str] = "products"

    sectors_of_ranks: float | None = described(
        "Sectors of 32 bytes that a warp's gather of p touches on average.", None
    )
    lines_of_ranks: float | None = described("The same of lines of 128 bytes.", None)
    sectors_of_values: float | None = described("Sectors that a warp's load of values touches on average.", None)
    lines_of_values: float | None = described("The same of lines.", None)


@dataclass(frozen=True, slots=True)
class Product:
    """What a product reads: the first `read` segments of some operands; segments of 0: fp64 throughout."""

    segments: int = 0
    read: int = 0
    operands: Operands = "both"
    block_bytes: int = BLOCK_BYTES

    @property
    def of_values(self) -> int:
        """Segments of each value that are read; 0: fp64."""
        return 0 if self.operands == "p" else self.read

    @property
    def of_ranks(self) -> int:
        """Segments of each rank that are read; 0: fp64."""
        return 0 if self.operands == "A" else self.read

    @property
    def types(self) -> str:
        """Template arguments of its kernel, but for the type of the row pointers."""
        return f"{self.segments or SEGMENTS[0]}, {self.of_values}, {self.of_ranks}, {self.block_bytes}"

    def case(self, matrix_id: str, layout: str) -> Case:
        """Its case: `csr/thread+cpms2` and what is read."""
        if not self.segments:
            return Case(matrix_id, f"{layout}+fp64", "warm")
        block = str(self.block_bytes) if self.block_bytes else "separate"
        axes = (("read", str(self.read)), ("operands", self.operands), ("block", block))
        return Case(matrix_id, f"{layout}+cpms{self.segments}", "warm", axes)


PRODUCTS = (
    Product(),
    *(
        Product(segments, read, operands, block)
        for segments in SEGMENTS
        for block in BLOCKS
        for read in range(1, segments + 1)
        for operands in OPERANDS
    ),
)
"""fp64 first: it enters every round twice."""


def source_of(layout: str, pointer: str) -> CudaSource:
    """All products of a layout."""
    pull = PULLS[layout]
    names = [name for product in PRODUCTS for name in pull.names(pointer, product.types)]
    return CudaSource(__package__, "products.cu", tuple(names))


class LinkProducts(Experiment):
    """All products of one graph in one layout."""

    details = LinkProductDetails
    beginning = "making the layout"

    def __init__(self, matrix_id: str, graph: TransitionMatrix, layout: str, rounds: int, bench: Bench) -> None:
        self.products = {product.case(matrix_id, layout): product for product in PRODUCTS}
        super().__init__(tuple(self.products), ("warm",), rounds, bench)
        self.graph, self.layout = graph, layout
        self._expected: dict[tuple[int, int, int], Any] = {}
        self._touched: dict[tuple[str, int, int, int, int], float] = {}

    def load(self) -> Sequence[Candidate]:
        """The layout on the device, ranks near 1/n, and what warps load of both."""
        slots = PULLS[self.layout].most_slots(self.graph.pull)
        check_room(60.0 * slots, self.bench.layout_bytes)
        self.source = source_of(self.layout, pointer_of(self.graph.pull))
        self.pull = PULLS[self.layout](self.graph, self.bench.xp, free=False)
        self.ranks = np.random.default_rng(1).uniform(0.5, 1.5, self.graph.n) / max(self.graph.n, 1)
        self.p, self.y = self.bench.xp.asarray(self.ranks), self.bench.xp.empty(self.graph.n)
        self.held_bytes = 12.0 * slots + 16.0 * self.graph.n
        entries, slots = loads_of_warps(self.graph.pull)
        self._gathers = np.where(entries >= 0, self.graph.pull.indices[entries], -1) if entries.size else entries
        self._loads = entries if self.layout.startswith("csr") else slots
        return [LinkProduct(self, case, product) for case, product in self.products.items()]

    def stored(self, product: Product) -> tuple[Any, Any, Any]:
        """Values, p and y, which all products with these segments and blocks share."""
        key = product.segments, product.block_bytes
        needed = 8.0 * self.pull.values.size + 16.0 * self.graph.n
        operands, _ = self.converted(key, needed, partial(_Operands, self, product))
        values = operands.values if product.of_values else self.pull.values
        return (values, operands.p, operands.y) if product.of_ranks else (values, self.p, self.y)

    def touched(self, product: Product) -> Fields:
        """What the loads of a warp touch: fields of LinkProductDetails."""
        return {
            f"{granules}_of_{operand}": self._granules(operand, read, product, size)
            for granules, size in (("sectors", SECTOR_BYTES), ("lines", LINE_BYTES))
            for operand, read in (("ranks", product.of_ranks), ("values", product.of_values))
        }

    def _granules(self, operand: str, read: int, product: Product, size: int) -> float:
        key = operand, read, product.segments if read else 0, product.block_bytes if read else 0, size
        if key not in self._touched:
            loads = self._gathers if operand == "ranks" else self._loads
            self._touched[key] = granules_per_load(loads, product.segments, read, product.block_bytes, size)
        return self._touched[key]

    def expected(self, product: Product) -> Any:
        """Aᵀ·p of what is read: float64 [n], on the host."""
        key = product.segments, product.of_values, product.of_ranks
        if key not in self._expected:
            matrix = self.graph.pull.to_scipy().copy()
            matrix.data = _cut(matrix.data, product.segments, product.of_values)
            self._expected[key] = matrix @ _cut(self.ranks, product.segments, product.of_ranks)
        return self._expected[key]


class _Operands:
    """Values, p and room for y in segments."""

    def __init__(self, products: LinkProducts, product: Product) -> None:
        arrays = products.pull.values, products.p, products.y
        self.values, self.p, self.y = (_stored(array, product) for array in arrays)
        self.stored_bytes = sum(int(_units(array).nbytes) for array in (self.values, self.p, self.y))


class LinkProduct(Candidate):
    """A product; it shares operands with those of the same blocks."""

    def __init__(self, products: LinkProducts, case: Case, product: Product) -> None:
        super().__init__(case.key, case.kernel, {"warm": case})
        self._products, self._product, self._bench = products, product, products.bench
        self.layout = product.segments, product.block_bytes
        self.bytes_needed = 8.0 * products.pull.values.size + 16.0 * products.graph.n
        self._call: Callable[[], None] | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """The hash of the source."""
        return {"source": digest(self._products.source.text)}

    def prepare(self) -> Callable[[], Fields]:
        """One product, which is verified on the host."""
        own, product = self._products, self._product
        values, p, y = own.stored(product)
        # Another product may have left the right sums there.
        (y.storage if isinstance(y, Segmented) else y).fill(np.nan)
        apart = tuple(np.int64(array.apart if isinstance(array, Segmented) else 0) for array in (values, p))
        ranks = _units(p), _units(y), *apart
        self._call = partial(own.pull.launch, own.source, product.types, _units(values), ranks)
        self._call()
        found = cpms.read(y, product.of_ranks) if isinstance(y, Segmented) else y.copy()
        self.fields = {
            "stored_bytes": own.pull.nbytes + sum(int(_units(array).nbytes) for array in (values, p)),
            **own.touched(product),
        }
        return partial(self._verified, found if isinstance(found, np.ndarray) else found.get())

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Turns of the product."""
        return self._bench.turns(self._ready())(cache)

    def least_s(self, cache: Cache) -> float:
        """By the bytes that it moves."""
        return self._bench.least_s(self._moved(), cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """GFLOP/s and the floor."""
        moved = self._moved()
        return {
            "gflops": 2 * self._products.graph.pull.nnz / timing.median_s / 1e9,
            "floor_s": moved / self._bench.profile.rate(int(moved), cache),
        }

    def release(self) -> None:
        """Gives back its operands."""
        self._call = None

    def _ready(self) -> Callable[[], None]:
        if self._call is None:
            raise RuntimeError("A product that was not prepared is not sampled.")
        return self._call

    def _moved(self) -> float:
        """Links, pointers and, as far as they are read, values once, p and y once; padding does not count."""
        pull, product = self._products.graph.pull, self._product
        of_values, of_ranks = (k / product.segments if k else 1.0 for k in (product.of_values, product.of_ranks))
        pointers = float(pull.indptr.nbytes) if self._products.layout.startswith("csr") else 0.0
        return 4.0 * pull.nnz + 8.0 * of_values * pull.nnz + pointers + 16.0 * of_ranks * pull.n_rows

    def _verified(self, y: Any) -> Fields:
        """Nothing; raises KernelError where a y is further from Aᵀ·p than cutting and rounding bring it."""
        expected, product = self._products.expected(self._product), self._product
        lost = product.segments - product.of_ranks if product.of_ranks else 0
        bits = MANTISSA_BITS - (64 // product.segments * lost if lost else 0)
        lengths = np.diff(self._products.graph.pull.indptr)
        wrong = np.abs(y - expected) > (2.0**-bits + (lengths + 2) * 2.0**-MANTISSA_BITS) * expected
        if wrong.any() or not np.isfinite(y).all():
            raise KernelError(f"{int(wrong.sum())} of {y.size} sums are not those of what was read.")
        return {}


def experiments(matrix_id: str, graph: TransitionMatrix, rounds: int, bench: Bench) -> Iterator[Experiment]:
    """The experiments of a graph, layout by layout."""
    return (LinkProducts(matrix_id, graph, layout, rounds, bench) for layout in LAYOUTS)


def _stored(array: Any, product: Product) -> Any:
    """The numbers in segments; those of fp64 as they are."""
    if not product.segments:
        return array
    segmented = cpms.allocate(array.size, product.segments, array_module(array), product.block_bytes)
    cpms.write(segmented, array, product.segments)
    return segmented


def _units(stored: Any) -> Any:
    return stored.units if isinstance(stored, Segmented) else stored


def _cut(values: Any, segments: int, read: int) -> Any:
    """float64 numbers with the bits of their first segments; read of 0: all."""
    if not read:
        return values
    # In NumPy alone: results are verified by several threads, and Numba's parallel loops allow one.
    alone = cpms.allocate(values.size, segments)
    cpms.write(alone, values, read)
    return cpms.read(alone, read)
