"""Tables of the `reduced_spmv` study: speedup over fp64, and memory sectors and lines per warp."""

from collections.abc import Iterator

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.reduced_spmv.figure_four import PRINTED_SPEEDUPS
from gpu_engine.findings.reduced_spmv.groups import Setting, counting, group_by_setting, product_groups
from gpu_engine.pagerank.products import BLOCKS, OPERANDS, Block, Operands, Product
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, number, ratio

READS = tuple((segments, read) for segments in (2, 4) for read in range(1, segments + 1))
"""(segments, segments read) of all SpMVs with segments."""

TOUCHED: tuple[tuple[Operands, str], ...] = (("p", "ranks"), ("A", "values"))
"""(operand in segments, its name) for which sectors and lines are counted."""


def gains(data: StudyData) -> Table:
    """Return a table of speedups over fp64 in the same layout (geometric mean), with one column per block size."""
    usable = counting(product_groups(data))
    blocks = _blocks(usable)
    texts = (Head("device", numeric=False), Head("layout", numeric=False))
    counts = (Head("segments"), Head("read"), Head("in segments", numeric=False), Head("graphs"))
    rows = (row for setting in usable for layout in setting.layouts for row in _gains(setting, layout, blocks))
    return Table((*texts, *counts, *_heads(blocks), Head("paper", "V100")), tuple(rows))


def touched(data: StudyData) -> Table:
    """Return a table of sectors and cache lines that a load of a warp touches (mean over the graphs)."""
    settings = group_by_setting(product_groups(data))
    blocks = _blocks(settings)
    names = (Head(text, numeric=False) for text in ("device", "layout", "load of"))
    rows = (row for setting in settings for layout in setting.layouts for row in _touched(setting, layout, blocks))
    heads = (Head("segments"), Head("read"), Head("sectors"), *_heads(blocks, "lines, "))
    return Table((*names, *heads), tuple(rows))


def called(block: Block) -> str:
    """Return the text of a block size: `128 bytes`, or `separate`."""
    return f"{block} bytes" if BLOCKS[block] else block


def _blocks(settings: list[Setting]) -> list[Block]:
    return [block for block in BLOCKS if any(block in setting.blocks for setting in settings)]


def _heads(blocks: list[Block], before: str = "") -> Iterator[Head]:
    return (Head(f"{before}{called(block)}") for block in blocks)


def _gains(setting: Setting, layout: str, blocks: list[Block]) -> Iterator[tuple[str, ...]]:
    for segments, read in READS:
        for operands in OPERANDS:
            means = [setting.gain(layout, Product(segments, read, operands, block)) for block in blocks]
            graphs = max((mean.graphs for mean in means if mean), default=0)
            printed = PRINTED_SPEEDUPS.get((segments, read)) if operands == "both" else None
            if graphs:
                cells = (ratio(mean.value if mean else None) for mean in means)
                head = setting.name, layout, str(segments), str(read), operands, str(graphs)
                yield *head, *cells, f"about {ratio(printed)}" if printed else MISSING


def _touched(setting: Setting, layout: str, blocks: list[Block]) -> Iterator[tuple[str, ...]]:
    for operands, loaded in TOUCHED:
        for segments, read in READS:
            products = [Product(segments, read, operands, block) for block in blocks]
            sectors = (setting.touched(layout, product, f"sectors_of_{loaded}") for product in products)
            lines = [setting.touched(layout, product, f"lines_of_{loaded}") for product in products]
            if any(lines):
                first = next(filter(None, sectors), None)
                yield setting.name, layout, loaded, str(segments), str(read), number(first), *map(number, lines)
