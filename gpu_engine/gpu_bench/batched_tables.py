"""Tables of the study `batched`: the figures of the paper, and random matrices against cuSPARSE."""

from collections.abc import Callable, Iterator, Mapping

from gpu_engine.competitors import BEST
from gpu_engine.findings.batched import finding, findings
from gpu_engine.findings.batched.conclusions import table as papers_conclusions
from gpu_engine.findings.batched.groups import ADDED, AUTO, LOOPS, BatchGroup, batch_groups, name_of, rates
from gpu_engine.findings.comparisons import Comparison
from gpu_engine.findings.overall_ranking import answers, of_findings
from gpu_engine.findings.overall_ranking_text import sentence
from gpu_engine.findings.overall_ranking_text import table as answer_table
from gpu_engine.gpu_bench.batch_matrices import is_similar
from gpu_engine.gpu_bench.markdown import (
    BenchmarkData,
    Section,
    Tables,
    comparison_sections,
    finding_sections,
    table_section,
)
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head

CHAIN, BRANCHES = "cusparse/chain", "cusparse/branches"
BATCH = (Head("matrix", numeric=False), Head("batch size"))

Rivals = Callable[[BatchGroup], Mapping[str, Measurement | None]]


def random_matrices(data: BenchmarkData) -> Iterator[Section]:
    """Yield the tables of random matrices against cuSPARSE, large and small ones separately."""
    rivals = _of(BEST, CHAIN, BRANCHES)
    cases = [
        _beside(data, b, f"Random matrices, n {size}, {b.operation}, {b.cache}", rivals)
        for b in _batches(data, "batch random")
        for size in ["of about 1,000" if data.study.matrix(b.matrix_id).n_rows >= 1000 else "= 100"]
    ]
    yield from comparison_sections("Random matrices: speedup over cuSPARSE", [*filter(None, cases)], BATCH, "batches")


def growing(data: BenchmarkData) -> Iterator[Section]:
    """Yield the tables of Figure 3: batches of growing size against launch loops."""
    batches = [b for b in _added(data, "batch paper") if is_similar(b.matrix_id)]
    rivals, title = _of(*LOOPS, BRANCHES, BEST), "Batches of growing size (Figure 3), {}"
    cases = [_beside(data, b, title.format(b.cache), rivals) for b in batches]
    yield from comparison_sections(
        "Batches of growing size: speedup over launch loops", [*filter(None, cases)], BATCH, "batches"
    )


def row_lengths(data: BenchmarkData) -> Iterator[Section]:
    """Yield the tables of Figure 4: throughput by row length, balanced and with few nonempty rows."""
    for what, side in (("balanced", "left"), ("few rows", "right")):
        table = rates(_added(data, f"batch {what}"), data.study)
        yield Section(f"1,000 matrices, {what} (Figure 4, {side}), GFLOP/s", table)


def collection(data: BenchmarkData) -> Iterator[Section]:
    """Yield the tables of Figure 5: throughput of every kernel on the paper's matrices, by mean row length."""
    batches = _added(data, "batch paper")
    most = [b for b in batches if b.batch_size == max(each.batch_size for each in batches)]
    title = "the paper's matrices (Figure 5)"
    cases = [case for b in most if (case := _beside(data, b, f"Uniform batches of {title}, {b.cache}", _of(BEST)))]
    yield from comparison_sections(f"Uniform batches of {title}: speedup over cuSPARSE", cases, BATCH, "matrices")
    yield Section(f"Throughput on uniform batches of {title}, GFLOP/s", rates(most, data.study))


def mixed(data: BenchmarkData) -> Iterator[Section]:
    """Yield the findings of mixed batches, Figures 6 and 7."""
    yield from finding_sections(finding(b, data.study) for b in _batches(data, "mixed"))


def auto(data: BenchmarkData) -> Iterator[Section]:
    """Yield the tables of the automatic kernel against the fastest single kernel."""
    cases = [
        Comparison(
            f"Automatic kernel, {b.cache}", (*_names(data, b), b.operation), b.auto, {"fastest single": b.single}
        )
        for b in _batches(data)
        if b.auto and b.single
    ]
    yield from comparison_sections(
        "Automatic kernel: speedup over the fastest single kernel",
        cases,
        (*BATCH, Head("operation", numeric=False)),
        "batches",
    )


def winners(data: BenchmarkData) -> Iterator[Section]:
    """Yield the ranking of the single Sparsight kernels by mean slowdown, per group."""
    for group in dict.fromkeys(_group(data, b) for b in _batches(data)):
        cases = {m.case for b in _batches(data, group) for m in b.ours if m.format != AUTO}
        for answer in answers(of_findings(findings(data.only(lambda m, cases=cases: m.case in cases))), "batches"):  # type: ignore[misc]
            yield Section(
                f"Fastest kernel, {group}, {answer.cache}",
                answer_table(answer, answer.standings),
                (sentence(answer),),
            )


def _of(*names: str) -> Rivals:
    return lambda b: {name: b.of(name) for name in names}


def _beside(data: BenchmarkData, b: BatchGroup, title: str, rivals: Rivals) -> Comparison | None:
    """Return the fastest Sparsight kernel on a batch against rivals, or None without a time."""
    return Comparison(title, _names(data, b), b.ours[0], rivals(b)) if b.ours else None


def _names(data: BenchmarkData, b: BatchGroup) -> tuple[str, ...]:
    return name_of(b, data.study), units.count(b.batch_size)


def _batches(data: BenchmarkData, group: str = "") -> list[BatchGroup]:
    """Return the batches with a time of a group of matrices, or of all, in the order of cache states."""
    every = [b for b in batch_groups(data.study, every_operation=True) if b.timed and group in ("", _group(data, b))]
    return sorted(every, key=lambda b: b.cache)


def _added(data: BenchmarkData, group: str) -> list[BatchGroup]:
    """Return the batches with accumulation into y, as in the paper."""
    return [b for b in _batches(data, group) if b.operation == ADDED]


def _group(data: BenchmarkData, b: BatchGroup) -> str:
    """Return the group of the matrix, or `mixed`."""
    return b.compose if b.compose == "mixed" else data.groups[b.matrix_id]


TABLES: Tables = {
    "conclusions": table_section("Conclusions of the paper (on a P100) and whether they hold here", papers_conclusions),
    **{each.__name__: each for each in (random_matrices, growing, row_lengths, collection, mixed, auto, winners)},
}
