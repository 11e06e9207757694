"""Tables of the study `formats`: Sparsight against cuSPARSE, reorderings, and PELLR against other formats."""

from collections.abc import Callable, Iterator

from gpu_engine.competitors import BEST
from gpu_engine.findings.comparisons import Comparison
from gpu_engine.findings.formats import findings
from gpu_engine.findings.formats.conclusions import table as papers_conclusions
from gpu_engine.findings.formats.groups import group_by_facet
from gpu_engine.findings.formats.iterations import iterations_saved
from gpu_engine.findings.formats.paper import SERIES, fastest_by_name
from gpu_engine.formats import find_kernel
from gpu_engine.gpu_bench.benchmark_matrices import SMALL, Group, Subject
from gpu_engine.gpu_bench.markdown import (
    BenchmarkData,
    Section,
    Tables,
    comparison_sections,
    finding_sections,
    table_section,
)
from gpu_engine.records import CACHES, Cache, Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head

MATRIX = (Head("matrix", numeric=False), Head("rows"), Head("nonzeros"))
PELLR = (*MATRIX[:2], Head("mean row"), Head("σ"), Head("max − min"), Head("n_iter", "ELLR over PELLR"))


def is_ours(kernel: str) -> bool:
    """Return whether a kernel is of FORMATS and runs without reordering."""
    return not kernel.startswith("cusparse/") and "+" not in kernel


def is_plain(kernel: str) -> bool:
    """Return whether a kernel is also uncompressed, with 12 bytes per nonzero or more."""
    return is_ours(kernel) and not find_kernel(kernel)[0].compressed


def _is_collected(subject: Subject) -> bool:
    return subject.group == "collection" and subject.name not in SMALL


def _is_in(*groups: Group) -> Callable[[Subject], bool]:
    return lambda subject: subject.group in groups


CONTESTS: tuple[tuple[str, Callable[[Subject], bool], Callable[[str], bool]], ...] = (
    ("eleven matrices, no compression", _is_in("families"), is_plain),
    ("eleven matrices, one kernel for all of them", _is_in("families"), lambda kernel: kernel == "split/tile"),
    ("eleven matrices, compressed layouts in the choice", _is_in("families"), is_ours),
    ("graphs with all values 1, compressed layouts in the choice", lambda s: s.is_natural, is_ours),
    ("matrices held out from the advisor, no compression", _is_in("held out"), is_plain),
    ("unequal row lengths, no compression", _is_in("row lengths"), is_plain),
    ("matrices of the collection, no compression", _is_collected, is_plain),
    ("matrices of the collection, compressed layouts in the choice", _is_collected, is_ours),
)
"""(title, selection of matrices, selection of kernels) of each table."""


def contests(data: BenchmarkData) -> Iterator[Section]:
    """Yield per cache state and selection the fastest Sparsight kernel against the fastest library kernel."""
    cases = [case for cache in CACHES for case in _contests(data, cache)]
    yield from comparison_sections("Fastest Sparsight kernel: speedup over cuSPARSE", cases, MATRIX, "matrices")


def _contests(data: BenchmarkData, cache: Cache) -> Iterator[Comparison]:
    facets = _facets(data, cache)
    for title, among, may in CONTESTS:
        chosen = {subject.name for subject in data.subjects if among(subject)}
        for matrix_id, timed in facets.items():
            ours, rival = _fastest(timed, may), _fastest(timed, BEST.__eq__)
            if ours and matrix_id in chosen:
                yield Comparison(f"{title}, {cache}", _matrix(data, matrix_id), ours, {BEST: rival})


def orders(data: BenchmarkData) -> Iterator[Section]:
    """Yield the findings of the matrices that were also measured with a reordering."""
    reordered = {m.matrix_id for m in data.recording.measurements if "+" in m.kernel}
    yield from finding_sections(findings(data.only(lambda m: m.matrix_id in reordered)))


def pellr(data: BenchmarkData) -> Iterator[Section]:
    """Yield the tables of PELLR against the formats of Figures 6 and 8 to 12: over all matrices, then by σ."""
    cases = [case for cache in CACHES for case in _pellr(data, cache)]
    yield from comparison_sections("PELLR: speedup over other formats", cases, PELLR, "matrices")


def _pellr(data: BenchmarkData, cache: Cache) -> Iterator[Comparison]:
    facets = _facets(data, cache)
    for matrix_id in data.study.by_sigma(facets):
        formats = fastest_by_name(facets[matrix_id])
        if "PELLR" in formats and len(formats) > 1:
            rivals = {name: formats.get(name) for name in SERIES if name != "PELLR"}
            title = f"PELLR against other formats, {cache}"
            yield Comparison(title, _rows(data, matrix_id), formats["PELLR"], rivals)


def _matrix(data: BenchmarkData, matrix_id: str) -> tuple[str, ...]:
    matrix = data.study.matrix(matrix_id)
    return matrix.name, units.count(matrix.n_rows), units.count(matrix.nnz)


def _rows(data: BenchmarkData, matrix_id: str) -> tuple[str, ...]:
    matrix = data.study.matrix(matrix_id)
    lengths = units.number(matrix.ave), units.number(matrix.sigma), units.count(matrix.max_min)
    return matrix.name, units.count(matrix.n_rows), *lengths, units.ratio(iterations_saved(matrix))


def _facets(data: BenchmarkData, cache: Cache) -> dict[str, tuple[Measurement, ...]]:
    """Return the kernels of each matrix in a cache state, the fastest first."""
    facets = group_by_facet(data.study.measurements).items()
    return {matrix_id: timed for (matrix_id, _, state), timed in facets if state == cache}


def _fastest(timed: tuple[Measurement, ...], may: Callable[[str], bool]) -> Measurement | None:
    """Return the first selected kernel with a time."""
    return next((m for m in timed if m.median_s and may(m.kernel)), None)


TABLES: Tables = {
    "contests": contests,
    "orders": orders,
    "conclusions": table_section(
        "Conclusions of the PELLR paper (on a Quadro P600) and whether they hold here", papers_conclusions
    ),
    "pellr": pellr,
}
