"""Which products y = Aᵀ·p there are: they read k segments of the values, of p, or of both, in blocks of several sizes.

Source: CPMS PageRank paper, §V and Fig. 4, whose products read both in blocks of 128 bytes; arrays of their own for
segments are what its §IV.A departs from.
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
"""Bytes of a block by what axes call it."""

Operands = Literal["both", "A", "p"]
OPERANDS: tuple[Operands, ...] = ("both", "A", "p")
"""What is in segments; the other operand is in fp64. y is stored as p is."""

FULL = "fp64"


@dataclass(frozen=True, slots=True)
class LinkProductDetails(Details):
    """What the measurement of a product says beside what all say."""

    study: ClassVar[str] = "reduced_spmv"

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
    block: Block = "128"

    @classmethod
    def parse(cls, kernel: str, axes: Mapping[str, str]) -> tuple[str, "Product"]:
        """The layout and the product of a case's kernel and axes."""
        layout, _, stored = kernel.partition("+")
        if stored == FULL:
            return layout, cls()
        operands, block = cast(Operands, axes["operands"]), cast(Block, axes["block"])
        return layout, cls(int(stored.removeprefix("cpms")), int(axes["read"]), operands, block)

    @property
    def of_values(self) -> int:
        """Segments of each value that are read; 0: fp64."""
        return 0 if self.operands == "p" else self.read

    @property
    def of_ranks(self) -> int:
        """Segments of each rank that are read; 0: fp64."""
        return 0 if self.operands == "A" else self.read

    @property
    def bits(self) -> tuple[int, int]:
        """Bits that are read of each value and of each rank."""
        of_values, of_ranks = (BITS // self.segments * k if k else BITS for k in (self.of_values, self.of_ranks))
        return of_values, of_ranks

    @property
    def block_bytes(self) -> int:
        """As `cpms.Segmented` has it."""
        return BLOCKS[self.block]

    @property
    def types(self) -> str:
        """Template arguments of its kernel, but for the type of the row pointers."""
        return f"{self.segments or SEGMENTS[0]}, {self.of_values}, {self.of_ranks}, {self.block_bytes}"

    def case(self, matrix_id: str, layout: str, triangle: Part = "full") -> Case:
        """Its case: `csr/thread+cpms2` and what is read."""
        of = (("triangle", triangle),) if triangle != "full" else ()
        if not self.segments:
            return Case(matrix_id, f"{layout}+{FULL}", "warm", of)
        axes = (("read", str(self.read)), ("operands", self.operands), ("block", self.block))
        return Case(matrix_id, f"{layout}+cpms{self.segments}", "warm", (*of, *axes))


def products_in(blocks: Iterable[Block]) -> tuple[Product, ...]:
    """All products in blocks of these sizes; fp64 first: it enters every round twice."""
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
