"""What candidates of the studies say that they launch is what `sparsight compile` compiles."""

from collections.abc import Iterator, Sequence

import pytest

from gpu_engine.batched import kernels_on
from gpu_engine.batched.composition import Composition
from gpu_engine.cpms.convert import SOURCE as CONVERT
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.csr import vector
from gpu_engine.host.device import find_device
from gpu_engine.kernel_sources import kernel_sources
from gpu_engine.measure import Bench, open_bench
from gpu_engine.multigpu.workload import Setting
from gpu_engine.pagerank.graph import PageRankParams
from gpu_engine.pagerank.kernels import RankKernel
from gpu_engine.pagerank.products import Product
from gpu_engine.records import Case
from gpu_engine.sampling.experiment import Experiment
from gpu_engine.studies.batched.experiment import BatchExperiment, BatchPlan
from gpu_engine.studies.formats.experiment import Products, SamplingPlan
from gpu_engine.studies.pagerank.experiment import PageRankExperiment
from gpu_engine.studies.pagerank.graph_runs import PageRankPlan
from gpu_engine.studies.reduced_spmv.experiment import LinkProducts
from gpu_engine.studies.scaling.experiment import ScalingExperiment, ScalingPlan
from tests.battery import dense
from tests.samples.studies import FAST

WEB = dense([[0, 1, 1], [1, 0, 0], [0, 1, 0]])


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_bench(find_device("cpu"), FAST) as opened:
        yield opened


def launched(experiment: Experiment) -> Sequence[CudaSource]:
    """What the first candidate says, all of which is compiled ahead."""
    found = tuple(experiment.load()[0].sources)
    assert set(found) <= set(kernel_sources())
    return found


def test_of_a_kernel_of_formats_its_file(bench: Bench) -> None:
    plan = SamplingPlan(("warm",), 9, "csr/vector", 0.0)
    assert launched(Products(plan, [Case("m", "csr/vector", "warm")], WEB, bench)) == (vector.SOURCE,)


def test_of_a_kernel_made_of_others_their_files(bench: Bench) -> None:
    plan = SamplingPlan(("warm",), 9, "hyb/segmented", 0.0)
    found = launched(Products(plan, [Case("m", "hyb/segmented", "warm")], WEB, bench))
    assert [source.file for source in found] == ["ell.cu", "coo.cu"]


def test_of_a_batch_kernel_its_file(bench: Bench) -> None:
    kernel = next(kernel for kernel in kernels_on("cpu") if kernel.source is not None)
    plan = BatchPlan((kernel,), ("warm",), 9, False, 1000, 0.0)
    case = Case("m", kernel.name, "warm", (("batch", "2"),))
    assert launched(BatchExperiment(plan, [case], lambda: Composition.copies(WEB, 2), bench)) == (kernel.source,)


@pytest.mark.parametrize(
    ("kernel", "files"),
    [
        (RankKernel("csr/thread"), ["iterate.cu", "between.cu", "converge.cu"]),
        (RankKernel("csr/thread", segments=4), ["iterate.cu", "between.cu", "raise.cu"]),
        (RankKernel("csr/thread", segments=2, fused=False), ["unfused.cu", CONVERT.file]),
        (RankKernel("split/tile", free=True, refined=32), ["refine.cu"]),
    ],
    ids=lambda value: value.name if isinstance(value, RankKernel) else "",
)
def test_of_a_run_of_pagerank_those_for_the_pointers_of_its_graph(
    bench: Bench, kernel: RankKernel, files: list[str]
) -> None:
    case = Case("m", kernel.name, "warm")
    plan = PageRankPlan(PageRankParams(), {case.key: (kernel, kernel.schedule({}), True)}, 9, 0.0, 3)
    found = launched(PageRankExperiment(plan, [case], WEB, bench))
    assert [source.file for source in found] == files
    assert not any("long long" in name for name in found[0].instantiations)


def test_of_a_product_from_segments_all_of_its_layout(bench: Bench) -> None:
    one, other = (launched(LinkProducts([p.case("g", "csr/thread")], WEB, "full", 9, bench)) for p in TWO)
    assert one == other


TWO = (Product(), Product(4, 1, "A", "separate"))


def test_of_a_workload_of_several_devices_all_that_devices_launch(bench: Bench) -> None:
    setting = Setting("resident", "pCSR", "resident", 2)
    case = Case("m", setting.kernel, "warm", setting.axes)
    found = launched(ScalingExperiment(ScalingPlan({case.key: setting}, 9, 1), [case], WEB, bench))
    files = {"rank_steps.cu", "solve_steps.cu", "entries.cu", "segments.cu", "chunks.cu", "split.cu", "coo.cu"}
    files |= {"csc.cu", "vector.cu"}
    assert {source.file for source in found} == files
