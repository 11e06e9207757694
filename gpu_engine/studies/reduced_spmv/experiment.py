"""LinkProducts: reduced-precision SpMVs of one graph, verified on the device and sampled in the same rounds."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gpu_engine import cpms
from gpu_engine.cpms.layout import BITS, Segmented
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource, digest
from gpu_engine.errors import KernelError
from gpu_engine.formats.base import array_module
from gpu_engine.measure import Bench, Placement, Rounds, Timing
from gpu_engine.measure.placements import copied, copied_object
from gpu_engine.pagerank.cuda_pulls import PULLS, pointer_of
from gpu_engine.pagerank.graph import PageRankParams, Part, transition_matrix
from gpu_engine.pagerank.memory_transactions import LINE_BYTES, SECTOR_BYTES, loads_of_warps, transactions_per_load
from gpu_engine.pagerank.products import BLOCKS, LinkProductDetails, Product, products_in
from gpu_engine.records import Cache, Case
from gpu_engine.sampling.experiment import Candidate, Experiment, Fields

MANTISSA_BITS = 52


def source_of(layout: str, pointer: str) -> CudaSource:
    """Return the source of all SpMVs of a layout, compiled once regardless of the requested cases."""
    pull = PULLS[layout]
    names = [name for product in products_in(BLOCKS) for name in pull.names(pointer, product.types)]
    return CudaSource("gpu_engine.pagerank", "products.cu", tuple(names))


class LinkProducts(Experiment):
    """Experiment with the SpMVs of one graph in all layouts."""

    details = LinkProductDetails
    beginning = "computing the transition matrix"

    def __init__(self, cases: Sequence[Case], adjacency: CsrMatrix, part: Part, rounds: int, bench: Bench) -> None:
        super().__init__(cases, ("warm",), rounds, bench)
        self._adjacency, self._part = adjacency, part
        self._expected: dict[tuple[int, int], Any] = {}
        self._touched: dict[tuple[str, int, int, int, int], float] = {}

    def load(self) -> Sequence[Candidate]:
        """Load the graph, ranks near 1/n, and the loads of warps on both; return the candidates."""
        xp = self.bench.xp
        self.graph = transition_matrix(self._adjacency, PageRankParams(triangle=self._part))
        pull, n = self.graph.pull, self.graph.n
        self._ranks = np.random.default_rng(1).uniform(0.5, 1.5, n) / max(n, 1)
        self.p, self.y, self._lengths = xp.asarray(self._ranks), xp.empty(n), xp.asarray(np.diff(pull.indptr))
        entries, slots = loads_of_warps(pull)
        gathers = np.where(entries >= 0, pull.indices[entries], -1) if entries.size else entries
        loads = {"ranks": gathers, "csr/thread": entries, "ell/thread": slots}
        self._loads = {name: xp.asarray(places) for name, places in loads.items()}
        parsed = [(case, *Product.parse(case.kernel, dict(case.axes))) for case in self.cases]
        layouts = dict.fromkeys(layout for _, layout, _ in parsed)
        self.slots = {layout: float(PULLS[layout].most_slots(pull)) for layout in layouts}
        fitting = [slots for slots in self.slots.values() if _making(slots) <= self.bench.layout_bytes]
        # The links; for n pages ranks, sums, lengths, and the expected sums of ten pairs of precisions.
        self.held_bytes = 12.0 * sum(fitting) + 110.0 * n
        self.sources = {layout: source_of(layout, pointer_of(pull)) for layout in layouts}
        return [LinkProduct(self, *each) for each in parsed]

    def links(self, layout: str) -> Any:
        """Return the links in a layout, shared by its SpMVs."""
        made, _ = self.converted(layout, _making(self.slots[layout]), partial(_Links, self, layout))
        return made.pull

    def stored(self, layout: str, product: Product) -> tuple[Any, Any, Any]:
        """Return values, p and y, shared by all SpMVs with the same segments and blocks."""
        pull = self.links(layout)
        if not product.segments:
            return pull.values, self.p, self.y
        key = layout, product.segments, product.block
        arrays = pull.values, self.p, self.y
        operands, _ = self.converted(key, self.needed(layout), partial(_Operands, arrays, product))
        values = operands.values if product.of_values else pull.values
        return (values, operands.p, operands.y) if product.of_ranks else (values, self.p, self.y)

    def needed(self, layout: str) -> float:
        """Return the bytes of values, p and y of a layout."""
        return 8.0 * self.slots[layout] + 16.0 * self.graph.n

    def touched(self, layout: str, product: Product) -> Fields:
        """Return the sectors and cache lines per load of a warp, as fields of LinkProductDetails."""
        return {
            f"{granules}_of_{operand}": self._transactions(loads, read, product, size)
            for granules, size in (("sectors", SECTOR_BYTES), ("lines", LINE_BYTES))
            for operand, loads, read in (("ranks", "ranks", product.of_ranks), ("values", layout, product.of_values))
        }

    def _transactions(self, loads: str, read: int, product: Product, size: int) -> float:
        key = loads, read, product.segments if read else 0, product.block_bytes if read else 0, size
        if key not in self._touched:
            transactions = transactions_per_load(self._loads[loads], product.segments, read, product.block_bytes, size)
            self._touched[key] = transactions
        return self._touched[key]

    def check(self, product: Product, y: Any) -> None:
        """Raise KernelError if a sum differs from SciPy's by more than the truncation of y and rounding explain."""
        expected, mantissa_bits = self._sums(product.bits), product.bits[1] - (BITS - MANTISSA_BITS)
        tolerance = (2.0**-mantissa_bits + (self._lengths + 2) * 2.0**-MANTISSA_BITS) * expected
        # Written so that NaN counts as wrong.
        wrong = int((~(abs(y - expected) <= tolerance)).sum())
        if wrong:
            raise KernelError(f"Wrong result: {wrong} of {y.size} sums differ from SciPy.")

    def _sums(self, bits: tuple[int, int]) -> Any:
        """Return Aᵀ·p by SciPy with the given bits of values and p: float64 [n] on the device; computed once."""
        if bits not in self._expected:
            matrix = replace(self.graph.pull, values=_cut(self.graph.pull.values, bits[0])).to_scipy()
            self._expected[bits] = self.bench.xp.asarray(matrix @ _cut(self._ranks, bits[1]))
        return self._expected[bits]


class _Links:
    """Links of the graph in a layout."""

    def __init__(self, products: LinkProducts, layout: str) -> None:
        self.pull = PULLS[layout](products.graph, products.bench.xp, free=False)
        self.stored_bytes = self.pull.nbytes


class _Operands:
    """Values, p and space for y, in segments."""

    def __init__(self, arrays: tuple[Any, Any, Any], product: Product) -> None:
        self.values, self.p, self.y = (_stored(array, product) for array in arrays)
        self.stored_bytes = sum(int(_units(array).nbytes) for array in (self.values, self.p, self.y))


class LinkProduct(Candidate):
    """A reduced-precision SpMV as a candidate; it shares operands with those of the same blocks."""

    def __init__(self, products: LinkProducts, case: Case, layout: str, product: Product) -> None:
        super().__init__(case.key, case.kernel, {"warm": case})
        self._products, self._layout, self._product, self._bench = products, layout, product, products.bench
        self.layout = layout, product.segments, product.block
        self.bytes_needed = products.needed(layout) if product.segments else 0.0
        self._operands: tuple[Any, ...] = ()

    @property
    def environment(self) -> Mapping[str, str]:
        """Hash of the source."""
        return {"source": digest(self._products.sources[self._layout].text)}

    @property
    def sources(self) -> Collection[CudaSource]:
        """CUDA source of its layout."""
        return (self._products.sources[self._layout],)

    def prepare(self) -> Callable[[], Fields]:
        """Run one SpMV and verify it on the device, because a hundred vectors would take the host longer."""
        experiment, product = self._products, self._product
        values, p, y = experiment.stored(self._layout, product)
        pull = experiment.links(self._layout)
        # Cleared, because another SpMV may have left the correct sums there.
        (y.storage if isinstance(y, Segmented) else y).fill(np.nan)
        self._operands = pull, values, p, y
        self._call(*self._operands)()
        experiment.check(product, cpms.read(y, product.of_ranks) if isinstance(y, Segmented) else y)
        self.fields = {
            "stored_bytes": pull.nbytes + sum(int(_units(array).nbytes) for array in (values, p)),
            **experiment.touched(self._layout, product),
        }
        return dict

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Return a function that times one turn of SpMVs."""
        return self._bench.turns(self._call(*self._operands), placement=self.placement())(cache)

    def placement(self) -> Placement:
        """Return how the SpMV is placed: on copies of links, values, p, and y."""
        pull, *arrays = self._operands
        nbytes = pull.nbytes + sum(int(_units(array).nbytes) for array in (pull.values, *arrays))
        return Placement(lambda: self._call(copied_object(pull), *map(copied, arrays)), nbytes)

    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for its bytes."""
        return self._bench.least_s(self._moved(), cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """Return GFLOP/s and the roofline time."""
        moved = self._moved()
        return {
            "gflops": 2 * self._products.graph.pull.nnz / timing.median_s / 1e9,
            "roofline_s": moved / self._bench.profile.rate(int(moved), cache),
        }

    def release(self) -> None:
        """Free its operands."""
        self._operands = ()

    def _call(self, pull: Any, values: Any, p: Any, y: Any) -> Callable[[], None]:
        """Return a call of the SpMV on these arrays."""
        apart = tuple(np.int64(array.apart if isinstance(array, Segmented) else 0) for array in (values, p))
        ranks, source = (_units(p), _units(y), *apart), self._products.sources[self._layout]
        return partial(pull.launch, source, self._product.types, _units(values), ranks)

    def _moved(self) -> float:
        """Return the bytes of links, pointers, the value segments that are read, p, and y; without padding."""
        pull, (of_values, of_ranks) = self._products.graph.pull, self._product.bits
        pointers = float(pull.indptr.nbytes) if self._layout.startswith("csr") else 0.0
        return 4.0 * pull.nnz + of_values / 8 * pull.nnz + pointers + of_ranks / 4 * pull.n_rows


def _making(slots: float) -> float:
    """Return the most bytes that creating a layout with `slots` slots takes."""
    return 60.0 * slots


def _stored(array: Any, product: Product) -> Any:
    """Return an array stored in segments."""
    segmented = cpms.allocate(array.size, product.segments, array_module(array), product.block_bytes)
    cpms.write(segmented, array, product.segments)
    return segmented


def _units(stored: Any) -> Any:
    return stored.units if isinstance(stored, Segmented) else stored


def _cut(numbers: Any, bits: int) -> Any:
    """Return float64 numbers truncated to their first bits."""
    return (numbers.view(np.uint64) & np.uint64(2**BITS - 2 ** (BITS - bits))).view(np.float64)
