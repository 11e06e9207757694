"""Products in numbers: speed-up over fp64 by what is read and in which blocks, and what a warp touches."""

from collections.abc import Iterator

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.figure_four import PRINTED
from gpu_engine.findings.reduced_spmv.groups import Place, counting, places, product_groups
from gpu_engine.pagerank.products import BLOCKS, OPERANDS, Block, Operands, Product
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, number, ratio

READS = tuple((segments, read) for segments in (2, 4) for read in range(1, segments + 1))
"""(segments, read) of all products in segments."""

TOUCHED: tuple[tuple[Operands, str], ...] = (("p", "ranks"), ("A", "values"))
"""What is in segments where what a warp touches of it is looked at, and what it is called."""


def gains(data: StudyData) -> Table:
    """Speed-up over fp64 in the same layout, in the geometric mean over the graphs, a column a block."""
    shown = counting(product_groups(data))
    blocks = _blocks(shown)
    texts = (Head("device", numeric=False), Head("layout", numeric=False))
    counts = (Head("segments"), Head("read"), Head("in segments", numeric=False), Head("graphs"))
    rows = (row for place in shown for layout in place.layouts for row in _gains(place, layout, blocks))
    return Table((*texts, *counts, *_heads(blocks), Head("the paper", "V100")), tuple(rows))


def touched(data: StudyData) -> Table:
    """What a warp touches with a load, in the mean over the graphs: sectors, the same in every block, and lines."""
    every = places(product_groups(data))
    blocks = _blocks(every)
    names = (Head(text, numeric=False) for text in ("device", "layout", "load of"))
    rows = (row for place in every for layout in place.layouts for row in _touched(place, layout, blocks))
    heads = (Head("segments"), Head("read"), Head("sectors"), *_heads(blocks, "lines, "))
    return Table((*names, *heads), tuple(rows))


def called(block: Block) -> str:
    """`128 bytes`, or `separate`."""
    return f"{block} bytes" if BLOCKS[block] else block


def _blocks(found: list[Place]) -> list[Block]:
    return [block for block in BLOCKS if any(block in place.blocks for place in found)]


def _heads(blocks: list[Block], before: str = "") -> Iterator[Head]:
    return (Head(f"{before}{called(block)}") for block in blocks)


def _gains(place: Place, layout: str, blocks: list[Block]) -> Iterator[tuple[str, ...]]:
    for segments, read in READS:
        for operands in OPERANDS:
            means = [place.gain(layout, Product(segments, read, operands, block)) for block in blocks]
            graphs = max((mean.graphs for mean in means if mean), default=0)
            printed = PRINTED.get((segments, read)) if operands == "both" else None
            if graphs:
                cells = (ratio(mean.value if mean else None) for mean in means)
                head = place.name, layout, str(segments), str(read), operands, str(graphs)
                yield *head, *cells, f"about {ratio(printed)}" if printed else MISSING


def _touched(place: Place, layout: str, blocks: list[Block]) -> Iterator[tuple[str, ...]]:
    for operands, loaded in TOUCHED:
        for segments, read in READS:
            products = [Product(segments, read, operands, block) for block in blocks]
            sectors = (place.touched(layout, product, f"sectors_of_{loaded}") for product in products)
            lines = [place.touched(layout, product, f"lines_of_{loaded}") for product in products]
            if any(lines):
                first = next(filter(None, sectors), None)
                yield place.name, layout, loaded, str(segments), str(read), number(first), *map(number, lines)
