"""Products by what they read, verified and sampled; the kernels are NumPy's here."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.generators import generate
from gpu_engine.gpu_bench import __main__ as command
from gpu_engine.gpu_bench.benchmark_matrices import GRAPH_SUBJECTS, Subject
from gpu_engine.gpu_bench.reduced_spmv import PAPERS_BLOCKS, passes
from gpu_engine.pagerank.products import BLOCKS, LAYOUTS, Block, LinkProductDetails, Product, products_in
from gpu_engine.recordings.files import generated
from gpu_engine.records import Measurement
from gpu_engine.sampling.run import measure
from gpu_engine.studies import reduced_spmv as study
from gpu_engine.studies.reduced_spmv import experiment as reduced_spmv
from gpu_engine.studies.reduced_spmv.experiment import LinkProducts
from tests.gpu_engine.pagerank.numpy_products import called_a_gpu, stand_in

GRAPH = generate("web", {"n": 90, "mean": 3.0, "max_length": 20, "seed": 3})
FEW = (
    *(Product(), Product(2, 1), Product(2, 2, "p", "256"), Product(4, 1), Product(4, 1, "A", "separate")),
    *(Product(4, 2, "both", "32"), Product(4, 2, "A", "32"), Product(4, 2, "p", "32"), Product(4, 3, "p", "separate")),
)
CASES = tuple(product.case("g", layout) for layout in LAYOUTS for product in FEW)


def measured(
    monkeypatch: pytest.MonkeyPatch, off: float = 0.0, allowed: int = 0
) -> list[Measurement[LinkProductDetails]]:
    stand_in(monkeypatch, off)
    with called_a_gpu(allowed) as bench:
        found = list(measure(bench, [LinkProducts(CASES, GRAPH, "full", 9, bench)]))
    return [m for m in found if isinstance(m, Measurement)]


def test_every_product_is_measured_once_in_the_rounds_of_both_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch)
    assert [m.case for m in found] == [case.key for case in CASES]
    assert {m.state for m in found} == {"ok"}, [m.note for m in found]
    assert "g|csr/thread+cpms4|warm|read=1,operands=A,block=separate" in {m.case for m in found}
    assert all(m.median_s and m.roofline_s for m in found)
    assert len({m.aa_gap for m in found}) == 1


def test_a_layout_that_does_not_fit_takes_nothing_from_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    # Making CSR takes 60 bytes a link, and ELLPACK has as many slots a page as the longest row.
    states = {m.case: (m.state, m.note) for m in measured(monkeypatch, allowed=70 * GRAPH.nnz)}
    assert {states[case.key][0] for case in CASES if case.format == "csr"} == {"ok"}
    refused = {states[case.key] for case in CASES if case.format == "ell"}
    assert {state for state, _ in refused} == {"skipped"}
    assert all(note.startswith("needs ") for _, note in refused)


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


@pytest.mark.parametrize(("off", "failing"), [(1e-9, {36}), (1.0, {36, 20, 4}), (float("nan"), {36, 20, 4})])
def test_wrong_sums_have_no_time(monkeypatch: pytest.MonkeyPatch, off: float, failing: set[Any]) -> None:
    """A sum is judged by the bits that y keeps: in fp64, or those of the segments of p."""
    for m, product in zip(measured(monkeypatch, off), (*FEW, *FEW), strict=True):
        bits = 64 // product.segments * product.of_ranks - 12 if product.of_ranks else 52
        assert m.state == ("failed" if bits == 52 or bits in failing else "ok"), (m.case, m.note)
        assert (m.median_s is None) == (m.state == "failed")


def test_the_sums_of_a_precision_are_expected_once_for_all_blocks_and_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[int, ...]]()
    cut = reduced_spmv._cut

    def counted(numbers: Any, bits: int) -> Any:
        asked.append((numbers.size, bits))
        return cut(numbers, bits)

    monkeypatch.setattr(reduced_spmv, "_cut", counted)
    measured(monkeypatch)
    of_values = [bits for size, bits in asked if size == GRAPH.nnz]
    # (64, 64), (32, 32) and (16, 16); values of 16 and of 32 bits alone; ranks of 32 and 48.
    assert sorted(of_values) == [16, 16, 32, 32, 64, 64, 64]


def test_a_product_is_read_from_its_case_and_an_operand_that_is_not_in_segments_is_fp64() -> None:
    assert [(p.of_values, p.of_ranks) for p in (Product(4, 3, "A"), Product(4, 3, "p"), Product(4, 3))] == [
        *[(3, 0), (0, 3), (3, 3)]
    ]
    assert [p.bits for p in (Product(), Product(2, 1, "A"), Product(4, 3, "p"))] == [(64, 64), (32, 64), (64, 48)]
    assert (Product().types, Product(4, 3, "p", "32").types) == ("2, 0, 0, 128", "4, 0, 3, 32")
    every = products_in(BLOCKS)
    assert len(every) == len(set(every)) == 1 + 5 * (2 + 4) * 3
    for product in every:
        case = product.case("g", "ell/thread", "lower")
        assert Product.parse(case.kernel, dict(case.axes)) == ("ell/thread", product)
        assert case.axes[0] == ("triangle", "lower")


def test_the_benchmark_has_lower_triangles_of_the_papers_graphs_and_all_blocks_on_the_others() -> None:
    for subject in GRAPH_SUBJECTS:
        (params,) = passes(subject, "cuda", 9)
        is_papers = subject.group == "paper graph"
        assert params.triangle == ("lower" if is_papers else "full")
        assert params.blocks == (("128", "separate") if is_papers else tuple(BLOCKS))


def test_every_launch_is_of_a_kernel_that_is_compiled() -> None:
    assert "csr_thread<int, 4, 3, 0, 0>" in reduced_spmv.source_of("csr/thread", "int").instantiations
    assert "ell_thread<2, 0, 0, 128>" in reduced_spmv.source_of("ell/thread", "").instantiations


def test_the_benchmark_runs_the_study_in_every_block_and_reads_its_records_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = list[tuple[Block, ...]]()

    def few(blocks: tuple[Block, ...]) -> tuple[Product, ...]:
        asked.append(blocks)
        return FEW

    stand_in(monkeypatch)
    monkeypatch.setattr(command, "open_bench", lambda _: called_a_gpu())
    monkeypatch.setattr(study, "products_in", few)
    grid = Subject("grid", "paper graph", generated("stencil", {"points": 5, "nx": 6, "ny": 5}))
    fixed = ("--study", "reduced_spmv", "--folder", str(tmp_path), "--device", "cpu", "--rounds", "9")
    assert command.main(fixed, (grid,)) == 0
    assert set(asked) == {PAPERS_BLOCKS}
    out = capsys.readouterr().out
    assert out == (tmp_path / "reduced_spmv.md").read_text(encoding="utf-8")
    heads = "segments | read | in segments | graphs | 32 bytes | 128 bytes | 256 bytes | separate"
    assert f"| device | layout | {heads} |" in out
    # Of a symmetric graph of the paper the lower triangle. Of the sources 1 to 29 a load
    # touches two sectors a segment of 16 bits, and in blocks of 32 bytes two lines, which all segments share.
    found = "| cuda:0, lower triangles | csr/thread | ranks | 4 | 2 | 4.00 | 2.00 | – | – | – |"
    assert found in out.splitlines()
    assert '"study": "reduced_spmv"' in (tmp_path / "reduced_spmv.json").read_text(encoding="utf-8")
    assert command.main((*fixed, "--measured"), (grid,)) == 0
    assert capsys.readouterr().out == out


def test_the_benchmark_refuses_a_cpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = Subject("grid", "paper graph", generated("stencil", {"points": 5, "nx": 6, "ny": 5}))
    given = ("--study", "reduced_spmv", "--folder", str(tmp_path), "--device", "cpu", "--rounds", "9")
    assert command.main(given, (grid,)) == 2
    assert "the study reduced_spmv has kernels only for GPUs" in capsys.readouterr().err
