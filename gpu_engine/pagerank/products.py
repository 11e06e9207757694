"""Product: a reduced-precision SpMV y = Aᵀ·p that reads k segments of the values, of p, or of both, in blocks.

Source: CPMS PageRank paper, §V and Fig. 4, where both are read in blocks of 128 bytes; §IV.A compares them with a
separate array per segment.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

from gpu_engine.cpms.layout import BITS, BLOCK_BYTES, SEGMENTS, SEPARATE
from gpu_engine.pagerank.graph import Part
from gpu_engine.records import Case, Details, described

Layout = Literal["csr/thread", "ell/thread"]
LAYOUTS: tuple[Layout, ...] = ("csr/thread", "ell/thread")

Block = Literal["32", "64", "128", "256", "separate"]
BLOCKS: dict[Block, int] = {"32": 32, "64": 64, "128": BLOCK_BYTES, "256": 256, "separate": SEPARATE}
"""Bytes of a block, by its name in the axes."""

Operands = Literal["both", "A", "p"]
OPERANDS: tuple[Operands, ...] = ("both", "A", "p")
"""Operands that are in segments; the other one is in fp64. y is stored like p."""

FULL = "fp64"


@dataclass(frozen=True, slots=True)
class LinkProductDetails(Details):
    """Fields specific to measurements of the study `reduced_spmv`."""

    study: ClassVar[str] = "reduced_spmv"

    sectors_of_ranks: float | None = described("32-byte sectors per warp gather of p, on average.", None)
    lines_of_ranks: float | None = described("128-byte lines per warp gather of p, on average.", None)
    sectors_of_values: float | None = described("32-byte sectors per warp load of values, on average.", None)
    lines_of_values: float | None = described("128-byte lines per warp load of values, on average.", None)


@dataclass(frozen=True, slots=True)
class Product:
    """A reduced-precision SpMV: it reads the first `read` segments of some operands; segments 0: all in fp64."""

    segments: int = 0
    read: int = 0
    operands: Operands = "both"
    block: Block = "128"

    @classmethod
    def parse(cls, kernel: str, axes: Mapping[str, str]) -> tuple[str, "Product"]:
        """Return the layout and the product of the kernel and axes of a case."""
        layout, _, stored = kernel.partition("+")
        if stored == FULL:
            return layout, cls()
        operands, block = cast(Operands, axes["operands"]), cast(Block, axes["block"])
        return layout, cls(int(stored.removeprefix("cpms")), int(axes["read"]), operands, block)

    @property
    def of_values(self) -> int:
        """Number of segments read per value; 0: fp64."""
        return 0 if self.operands == "p" else self.read

    @property
    def of_ranks(self) -> int:
        """Number of segments read per rank; 0: fp64."""
        return 0 if self.operands == "A" else self.read

    @property
    def bits(self) -> tuple[int, int]:
        """Bits read per value and per rank."""
        of_values, of_ranks = (BITS // self.segments * k if k else BITS for k in (self.of_values, self.of_ranks))
        return of_values, of_ranks

    @property
    def block_bytes(self) -> int:
        """Bytes of a block, as in `cpms.Segmented`."""
        return BLOCKS[self.block]

    @property
    def types(self) -> str:
        """Template arguments of its kernel, without the type of the row pointers."""
        return f"{self.segments or SEGMENTS[0]}, {self.of_values}, {self.of_ranks}, {self.block_bytes}"

    def case(self, matrix_id: str, layout: str, triangle: Part = "full") -> Case:
        """Return its case, such as the kernel `csr/thread+cpms2` with the axes of what it reads."""
        of = (("triangle", triangle),) if triangle != "full" else ()
        if not self.segments:
            return Case(matrix_id, f"{layout}+{FULL}", "warm", of)
        axes = (("read", str(self.read)), ("operands", self.operands), ("block", self.block))
        return Case(matrix_id, f"{layout}+cpms{self.segments}", "warm", (*of, *axes))


def products_in(blocks: Iterable[Block]) -> tuple[Product, ...]:
    """Return all products in blocks of these sizes; fp64, the control kernel, first."""
    return (
        Product(),
        *(
            Product(segments, read, operands, block)
            for segments in SEGMENTS
            for block in blocks
            for read in range(1, segments + 1)
            for operands in OPERANDS
        ),
    )
