"""The benchmark of study `products`: Figure 4 of the CPMS PageRank paper, in blocks of every size."""

from collections.abc import Callable, Iterator, Sequence

from gpu_engine.findings.products.conclusions import table as papers_conclusions
from gpu_engine.findings.products.tables import gains as gains_of
from gpu_engine.findings.products.tables import touched as touched_of
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section, Tables
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.gpu_bench.measuring import measure_passes
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.measure import Bench
from gpu_engine.pagerank.graph import Part
from gpu_engine.pagerank.products import BLOCKS
from gpu_engine.records import Measurement, Trace
from gpu_engine.studies.link_products import ProductsParams, ProductsStudy


def measure(
    subjects: Sequence[Subject], matrix_cache: MatrixCache, bench: Bench, rounds: int, say: Callable[[str], None]
) -> Iterator[Measurement | Trace]:
    """The products of one graph after the other; of the paper's graphs those of the lower triangle."""
    for subject in subjects:
        part: Part = "lower" if subject.group == "paper graph" else "full"
        params = ProductsParams(blocks=tuple(BLOCKS), part=part, rounds=rounds, sampling="full")
        yield from measure_passes(ProductsStudy(), [params], [subject], matrix_cache, bench, say)


def conclusions(data: BenchmarkData) -> Iterator[Section]:
    """What the paper says of its Figure 4, and whether it holds."""
    yield Section("Products beside the paper's Figure 4 (on a V100)", papers_conclusions(data.study))


def gains(data: BenchmarkData) -> Iterator[Section]:
    """Figure 4: how many times as fast as in fp64 a product is."""
    yield Section("Products over the same layout in fp64, geometric mean over the graphs", gains_of(data.study))


def touched(data: BenchmarkData) -> Iterator[Section]:
    """What a load of a warp touches, of which sectors are the same in blocks of every size."""
    yield Section("Sectors of 32 bytes and lines of 128 that a warp's load touches", touched_of(data.study))


TABLES: Tables = {table.__name__: table for table in (conclusions, gains, touched)}
