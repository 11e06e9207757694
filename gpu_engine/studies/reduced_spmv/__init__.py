"""Study `products`: what does a product of PageRank gain by fewer segments of values and ranks, and in which blocks?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.findings import reduced_spmv
from gpu_engine.measure import Bench
from gpu_engine.pagerank.graph import not_a_graph
from gpu_engine.pagerank.products import LAYOUTS, Block, Layout, LinkProductDetails, products_in
from gpu_engine.parameters import parameter
from gpu_engine.records import Backend, Case, DeviceInfo, MatrixInfo, Record
from gpu_engine.sampling.effort import BUDGET_S, SAMPLING, SHARE, Effort, Sampling
from gpu_engine.sampling.run import by_matrix, measure
from gpu_engine.studies.reduced_spmv.experiment import LinkProducts


@dataclass(frozen=True, slots=True)
class ReducedSpmvParams:
    """Parameters of the study."""

    layouts: tuple[Layout, ...] = parameter(LAYOUTS, "Layouts of the links, one thread a page.", min_length=1)
    blocks: tuple[Block, ...] = parameter(
        ("128", "separate"), "Bytes of a block of segments, or an array for each segment.", min_length=1
    )
    triangle: Literal["full", "lower"] = parameter(
        "full", "Of a symmetric matrix: all of it, or its strict lower triangle as in the paper."
    )
    rounds: int = parameter(9, "Interleaved rounds; the interval is bootstrapped over them.", ge=9, le=199)
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*BUDGET_S, ge=0.0, le=86_400.0)


class ReducedSpmvStudy:
    """y = Aᵀ·p in fp64 and from the first k segments of A, of p and of both, all of a graph in the same rounds."""

    name = "reduced_spmv"
    details = LinkProductDetails
    findings = staticmethod(reduced_spmv.findings)
    question = "What does a product of PageRank gain by fewer segments of values and ranks, and in which blocks?"
    several = False
    backends: tuple[Backend, ...] = ("cuda",)
    Params = ReducedSpmvParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        """No parameter takes names."""
        return {}

    def refusal(self, matrix: MatrixInfo) -> str:
        """Of a matrix that is no graph."""
        return not_a_graph(matrix.n_rows, matrix.n_cols)

    def cases(
        self,
        params: ReducedSpmvParams,
        matrices: Sequence[MatrixInfo],
        device: DeviceInfo,  # noqa: ARG002
    ) -> Iterator[Case]:
        """Matrix by matrix, layout by layout, fp64 first."""
        return (
            product.case(m.id, layout, params.triangle)
            for m in matrices
            for layout in params.layouts
            for product in products_in(params.blocks)
        )

    def estimate_s(self, params: ReducedSpmvParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:  # noqa: ARG002
        """Compiling, then per matrix the transition matrix and SciPy's sums, and the rounds of all products."""
        products = len(params.layouts) * len(products_in(params.blocks))
        rounds, effort = SHARE[params.sampling] * params.rounds, Effort.of(params)
        seconds = 0.3 * products
        for m in matrices:
            seconds += m.nnz / 1e6 + effort.expected_s(products * (5e-3 + 14 * m.nnz / 1e12), rounds)
        return seconds

    def run(
        self, params: ReducedSpmvParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Measures the cases of `todo`; those of one matrix share their rounds."""
        found = (
            LinkProducts(cases, matrices[cases[0].matrix_id], params.triangle, params.rounds, bench)
            for cases in by_matrix(todo)
        )
        return measure(bench, found, Effort.of(params))
