"""Figure 4 of the CPMS PageRank paper as a benchmark: products by what they read, in blocks of several sizes."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from gpu_engine import sampling
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section, mean, section
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.measure import Bench
from gpu_engine.pagerank.graph import PageRankParams, transition_matrix
from gpu_engine.pagerank.products import BLOCKS, LAYOUTS, PRODUCTS, Product, experiments
from gpu_engine.records import Case, Measurement

SIZES = " | ".join(f"{block} bytes" if block else "separate" for block in BLOCKS)


def measure(
    subjects: Sequence[Subject], matrix_cache: MatrixCache, bench: Bench, rounds: int, say: Callable[[str], None]
) -> Iterator[Measurement]:
    """The products of one graph after the other; of the paper's graphs those of the lower triangle."""
    for subject in subjects:
        say(f"measuring {subject.name}")
        params = PageRankParams(part="lower" if subject.group == "paper graph" else "full")
        graph = transition_matrix(matrix_cache.matrix(subject), params)
        for record in sampling.measure(bench, experiments(subject.name, graph, rounds, bench)):
            if isinstance(record, Measurement):
                if record.state == "failed":
                    say(f"{record.case} failed: {record.note}")
                yield record


def gains(data: BenchmarkData) -> Iterator[Section]:
    """How many times as fast as in fp64 a product is: the mean over the graphs."""
    found = {m.case: m for m in data.recording.measurements}
    graphs = list(dict.fromkeys(m.matrix_id for m in found.values()))

    def gain(graph: str, layout: str, product: Product) -> float | None:
        full, own = (found.get(each.case(graph, layout).key) for each in (PRODUCTS[0], product))
        return full.median_s / own.median_s if full and own and full.median_s and own.median_s else None

    for layout in LAYOUTS:
        rows = (
            (*head, *(mean(gain(graph, layout, product) for graph in graphs) for product in products))
            for head, products in _by_block()
        )
        title = f"{layout}: products over the same in fp64, geometric mean of {len(graphs)} graphs"
        yield from section(title, f"segments | read | operands | {SIZES}", rows)


def touched(data: BenchmarkData) -> Iterator[Section]:
    """Lines of 128 bytes that a warp's gather of p and its load of values touch, the mean over the graphs, and sectors
    of 32, of which blocks of no size make fewer.
    """
    for operands, name, layouts in (("p", "ranks", LAYOUTS[:1]), ("A", "values", LAYOUTS)):
        for layout in layouts:
            own = [m for m in data.recording.measurements if m.kernel.startswith(f"{layout}+")]
            rows = []
            for (segments, read, which), products in _by_block():
                if which == operands:
                    cases = [product.case("", layout) for product in products]
                    found = [[m.details for m in own if _is(m, case)] for case in cases]
                    sectors = mean(getattr(each, f"sectors_of_{name}") for each in found[0])
                    lines = (mean(getattr(each, f"lines_of_{name}") for each in block) for block in found)
                    rows.append((segments, read, sectors, *lines))
            title = f"{layout}: what a warp's load of {name} touches, sectors of 32 bytes and lines of 128"
            yield from section(title, f"segments | read | sectors | {SIZES}", rows)


def _is(measurement: Measurement, case: Case) -> bool:
    return (measurement.kernel, measurement.axes) == (case.kernel, dict(case.axes))


TABLES = {"gains": gains, "touched": touched}


def _by_block() -> Iterable[tuple[tuple[str, str, str], list[Product]]]:
    """((segments, read, operands), its products in the order of BLOCKS)."""
    rows: dict[tuple[str, str, str], list[Product]] = {}
    for product in PRODUCTS[1:]:
        rows.setdefault((str(product.segments), str(product.read), product.operands), []).append(product)
    return rows.items()
