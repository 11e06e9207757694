"""Products by what they read, verified and sampled; the kernels are NumPy's here."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gpu_engine import cpms
from gpu_engine.cpms.layout import SEPARATE
from gpu_engine.generators import generate
from gpu_engine.gpu_bench import __main__ as command
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.measure import open_bench
from gpu_engine.pagerank import PageRankParams, products, transition_matrix
from gpu_engine.pagerank.products import PRODUCTS, LinkProductDetails, Product, experiments
from gpu_engine.recordings import generated
from gpu_engine.records import BandwidthPoint, DeviceInfo, DeviceProfile, Measurement
from gpu_engine.sampling import measure

FAST = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "2026-11-21T00:00:00+00:00")
CPU = DeviceInfo("cpu", "cpu", "test", 2**34, 2**20)
GRAPH = transition_matrix(generate("web", {"n": 90, "mean": 3.0, "max_length": 20, "seed": 3}), PageRankParams())
FEW = (
    *(Product(), Product(2, 1), Product(2, 2, "p", 256), Product(4, 1), Product(4, 1, "A", SEPARATE)),
    *(Product(4, 2, "both", 32), Product(4, 2, "A", 32), Product(4, 2, "p", 32), Product(4, 3, "p", SEPARATE)),
)


class NumpyProducts:
    """Stands for the compiled source; off: what a wrong kernel adds to the first sum."""

    text = ""

    def __init__(self, off: float = 0.0) -> None:
        self.off = off

    def function(self, name: str) -> Callable[..., None]:
        kernel, types = name.rstrip(">").split("<")
        segments, of_values, of_ranks, block = map(int, types.split(", ")[-4:])

        def load(array: Any, size: int, read: int) -> Any:
            if not read:
                return array[:size]
            return cpms.read(cpms.Segmented(array.view(np.float64), size, segments, block), read)

        def launch(_grid: Any, _block: Any, arguments: tuple[Any, ...]) -> None:
            n, shape, columns, values, p, y, values_apart, ranks_apart = arguments
            numbers = load(values, columns.size, of_values)
            if kernel == "csr_thread":
                matrix = scipy.sparse.csr_array((numbers, columns, shape), shape=(n, n))
            else:
                kept = columns >= 0
                places = np.tile(np.arange(n), shape)[kept], columns[kept]
                matrix = scipy.sparse.coo_array((numbers[kept], places), shape=(n, n)).tocsr()
            found = matrix @ load(p, n, of_ranks)
            found[np.argmax(found)] *= 1.0 + self.off
            if not of_ranks:
                y[:] = found
                return
            cpms.write(cpms.Segmented(y.view(np.float64), int(n), segments, block), found, of_ranks)
            apart = cpms.Segmented(p.view(np.float64), int(n), segments, block).apart
            assert ranks_apart == apart
            assert values_apart == (values.size // segments if not block and of_values else apart if of_values else 0)

        return launch


def measured(monkeypatch: pytest.MonkeyPatch, off: float = 0.0) -> list[Measurement[LinkProductDetails]]:
    monkeypatch.setattr(products, "source_of", lambda *_: NumpyProducts(off))
    monkeypatch.setattr(products, "PRODUCTS", FEW)
    with open_bench(CPU, FAST) as bench:
        return [m for m in measure(bench, experiments("g", GRAPH, 9, bench)) if isinstance(m, Measurement)]


def test_every_product_is_measured_once_in_each_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch)
    assert [m.case for m in found] == [p.case("g", layout).key for layout in products.LAYOUTS for p in FEW]
    assert {m.state for m in found} == {"ok"}, [m.note for m in found]
    assert "g|csr/thread+cpms4|warm|read=1,operands=A,block=separate" in {m.case for m in found}
    assert all(m.median_s and m.floor_s for m in found)


def test_records_say_what_warps_touch(monkeypatch: pytest.MonkeyPatch) -> None:
    by_case = {m.case: dataclasses.asdict(m.details) for m in measured(monkeypatch)}
    full = by_case["g|csr/thread+fp64|warm|"]
    heads = by_case["g|csr/thread+cpms4|warm|read=1,operands=both,block=128"]
    pairs = by_case["g|csr/thread+cpms4|warm|read=2,operands=both,block=32"]
    alone = by_case["g|csr/thread+cpms4|warm|read=2,operands=A,block=32"]
    assert pairs["sectors_of_ranks"] == pytest.approx(2 * heads["sectors_of_ranks"])
    assert heads["lines_of_ranks"] < full["lines_of_ranks"] <= full["sectors_of_ranks"]
    assert alone["sectors_of_ranks"] == full["sectors_of_ranks"]
    assert alone["sectors_of_values"] == pairs["sectors_of_values"]


@pytest.mark.parametrize(("off", "failing"), [(1e-9, {"fp64", 36}), (1.0, {"fp64", 36, 20, 4})])
def test_wrong_sums_have_no_time(monkeypatch: pytest.MonkeyPatch, off: float, failing: set[Any]) -> None:
    """A sum is judged by the bits that y keeps: in fp64, or those of the segments of p."""
    for m, product in zip(measured(monkeypatch, off), (*FEW, *FEW), strict=True):
        bits = 64 // product.segments * product.of_ranks - 12 if product.of_ranks else 52
        assert m.state == ("failed" if bits == 52 or bits in failing else "ok"), (m.case, m.note)
        assert (m.median_s is None) == (m.state == "failed")


def test_an_operand_that_is_not_in_segments_is_fp64() -> None:
    assert [(p.of_values, p.of_ranks) for p in (Product(4, 3, "A"), Product(4, 3, "p"), Product(4, 3))] == [
        *[(3, 0), (0, 3), (3, 3)]
    ]
    assert (PRODUCTS[0].types, Product(4, 3, "p", 32).types) == ("2, 0, 0, 128", "4, 0, 3, 32")
    assert len(PRODUCTS) == len(set(PRODUCTS)) == 1 + 5 * (2 + 4) * 3


def test_every_launch_is_of_a_kernel_that_is_compiled() -> None:
    assert "csr_thread<int, 4, 3, 0, 0>" in products.source_of("csr/thread", "int").instantiations
    assert "ell_thread<2, 0, 0, 128>" in products.source_of("ell/thread", "").instantiations


def test_the_benchmark_writes_records_and_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(products, "source_of", lambda *_: NumpyProducts())
    monkeypatch.setattr(products, "PRODUCTS", FEW)
    monkeypatch.setattr(
        command, "open_bench", lambda device: open_bench(dataclasses.replace(device, cache_bytes=2**20), FAST)
    )
    grid = Subject("grid", "graph", generated("stencil", {"points": 5, "nx": 6, "ny": 5}))
    fixed = ("--study", "products", "--folder", str(tmp_path), "--device", "cpu", "--rounds", "9")
    assert command.main(fixed, (grid,)) == 0
    out = capsys.readouterr().out
    assert out == (tmp_path / "products.md").read_text(encoding="utf-8")
    assert "csr/thread: products over the same in fp64, geometric mean of 1 graphs" in out
    # Ranks of 30 pages in 16 bits are two sectors a segment, and with both segments two lines of 32-byte blocks.
    row = next(line for line in out.split("load of ranks")[1].splitlines() if line.startswith("| 4 | 2 |"))
    assert row.split(" | ")[2:4] == ["4.00", "2.00"]
    assert '"study": "products"' in (tmp_path / "products.json").read_text(encoding="utf-8")
