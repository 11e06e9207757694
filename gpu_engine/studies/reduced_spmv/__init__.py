"""Study `reduced_spmv`: measures one PageRank SpMV that reads only the leading segments of A, p or both."""

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
from gpu_engine.sampling.run import by_matrix, measure
from gpu_engine.sampling.sampling_options import SAMPLING, SHARE, TIME_LIMIT_S, Sampling, SamplingOptions
from gpu_engine.studies.reduced_spmv.experiment import LinkProducts


@dataclass(frozen=True, slots=True)
class ReducedSpmvParams:
    """Parameters of the study `reduced_spmv`."""

    layouts: tuple[Layout, ...] = parameter(LAYOUTS, "Layouts of the links, with one thread per page.", min_length=1)
    blocks: tuple[Block, ...] = parameter(
        ("128", "separate"), "Bytes per block of segments, or `separate`: one array per segment.", min_length=1
    )
    triangle: Literal["full", "lower"] = parameter(
        "full", "For a symmetric matrix: all of it, or its strict lower triangle, as in the paper."
    )
    rounds: int = parameter(
        9, "Number of interleaved rounds, over which confidence intervals are computed.", ge=9, le=199
    )
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*TIME_LIMIT_S, ge=0.0, le=86_400.0)


class ReducedSpmvStudy:
    """Study of y = Aᵀ·p in fp64 and from the first k segments of A, p or both, in the same rounds per graph."""

    name = "reduced_spmv"
    details = LinkProductDetails
    findings = staticmethod(reduced_spmv.findings)
    question = "How much faster is a PageRank SpMV that reads fewer segments, and which block size is best?"
    several = False
    backends: tuple[Backend, ...] = ("cuda",)
    Params = ReducedSpmvParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        """Return no names, because no parameter accepts names."""
        return {}

    def refusal(self, matrix: MatrixInfo) -> str:
        """Return why a matrix is not a graph; empty if it is one."""
        return not_a_graph(matrix.n_rows, matrix.n_cols)

    def cases(
        self,
        params: ReducedSpmvParams,
        matrices: Sequence[MatrixInfo],
        device: DeviceInfo,  # noqa: ARG002
    ) -> Iterator[Case]:
        """Yield the cases by matrix and layout, fp64 first."""
        return (
            product.case(m.id, layout, params.triangle)
            for m in matrices
            for layout in params.layouts
            for product in products_in(params.blocks)
        )

    def estimate_s(self, params: ReducedSpmvParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:  # noqa: ARG002
        """Return the expected seconds: compilation, then per matrix the preparation and the rounds."""
        products = len(params.layouts) * len(products_in(params.blocks))
        rounds, options = SHARE[params.sampling] * params.rounds, SamplingOptions.of(params)
        seconds = 0.3 * products
        for m in matrices:
            seconds += m.nnz / 1e6 + options.expected_s(products * (5e-3 + 14 * m.nnz / 1e12), rounds)
        return seconds

    def run(
        self, params: ReducedSpmvParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Yield the records of `todo`; cases of one matrix share their rounds."""
        experiments = (
            LinkProducts(cases, matrices[cases[0].matrix_id], params.triangle, params.rounds, bench)
            for cases in by_matrix(todo)
        )
        return measure(bench, experiments, SamplingOptions.of(params))
