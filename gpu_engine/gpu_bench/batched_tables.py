"""The tables of study `batched`: the paper's figures, and random matrices against the floor and cuSPARSE."""

from collections.abc import Callable, Iterator, Mapping

from gpu_engine.competitors import BEST
from gpu_engine.findings.answer import answers, of_findings
from gpu_engine.findings.answer_text import sentence
from gpu_engine.findings.answer_text import table as answer_table
from gpu_engine.findings.batched import finding, findings
from gpu_engine.findings.batched.conclusions import table as papers_conclusions
from gpu_engine.findings.batched.groups import ADDED, AUTO, LOOPS, BatchGroup, batch_groups, name_of, rates
from gpu_engine.findings.comparisons import Comparison
from gpu_engine.gpu_bench.batch_subjects import is_similar
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section, Tables, compared, found, tabled
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head

CHAIN, BRANCHES = "cusparse/chain", "cusparse/branches"
BATCH = (Head("matrix", numeric=False), Head("batch_size"))

Rivals = Callable[[BatchGroup], Mapping[str, Measurement | None]]


def random_matrices(data: BenchmarkData) -> Iterator[Section]:
    """Random matrices against the floor and cuSPARSE, large and small ones apart."""
    rivals = _of(BEST, CHAIN, BRANCHES)
    cases = [
        _beside(data, b, f"Random matrices, n {size}, {b.operation}, {b.cache}", rivals)
        for b in _batches(data, "batch random")
        for size in ["of about 1,000" if data.study.matrix(b.matrix_id).n_rows >= 1000 else "= 100"]
    ]
    yield from compared("Random matrices over cuSPARSE", [*filter(None, cases)], BATCH, "batches")


def growing(data: BenchmarkData) -> Iterator[Section]:
    """Figure 3: batches of growing size against one call after the other."""
    batches = [b for b in _added(data, "batch paper") if is_similar(b.matrix_id)]
    rivals, title = _of(*LOOPS, BRANCHES, BEST), "Batches of growing size (Figure 3), {}"
    cases = [_beside(data, b, title.format(b.cache), rivals) for b in batches]
    yield from compared(
        "Batches of growing size over one product after the other", [*filter(None, cases)], BATCH, "batches"
    )


def row_lengths(data: BenchmarkData) -> Iterator[Section]:
    """Figure 4: rates by row length, balanced and in few rows."""
    for what, side in (("balanced", "left"), ("few rows", "right")):
        table = rates(_added(data, f"batch {what}"), data.study)
        yield Section(f"1,000 problems of {what} (Figure 4, {side}), GFLOP/s", table)


def collection(data: BenchmarkData) -> Iterator[Section]:
    """Figure 5: rates of every kernel on the paper's matrices, by ascending mean row length."""
    batches = _added(data, "batch paper")
    most = [b for b in batches if b.batch_size == max(each.batch_size for each in batches)]
    title = "the paper's matrices (Figure 5)"
    cases = [case for b in most if (case := _beside(data, b, f"Copies of {title}, {b.cache}", _of(BEST)))]
    yield from compared(f"Copies of {title} over cuSPARSE", cases, BATCH, "matrices")
    yield Section(f"Rates on copies of {title}, GFLOP/s", rates(most, data.study))


def mixed(data: BenchmarkData) -> Iterator[Section]:
    """Figures 6 and 7: what findings say of heterogeneous batches."""
    yield from found(finding(b, data.study) for b in _batches(data, "mixed"))


def auto(data: BenchmarkData) -> Iterator[Section]:
    """The kernel that chooses by itself against the fastest single one."""
    cases = [
        Comparison(
            f"Choosing by itself, {b.cache}", (*_names(data, b), b.operation), b.auto, {"fastest single": b.single}
        )
        for b in _batches(data)
        if b.auto and b.single
    ]
    yield from compared(
        "Choosing by itself over the fastest single kernel",
        cases,
        (*BATCH, Head("operation", numeric=False)),
        "batches",
    )


def winners(data: BenchmarkData) -> Iterator[Section]:
    """Which of our single kernels is nearest to the fastest of them, by group."""
    for group in dict.fromkeys(_group(data, b) for b in _batches(data)):
        cases = {m.case for b in _batches(data, group) for m in b.ours if m.format != AUTO}
        for answer in answers(of_findings(findings(data.only(lambda m, cases=cases: m.case in cases))), "batches"):  # type: ignore[misc]
            yield Section(
                f"Which kernel is the fastest, {group}, {answer.cache}",
                answer_table(answer, answer.standings),
                (sentence(answer),),
            )


def _of(*names: str) -> Rivals:
    return lambda b: {name: b.of(name) for name in names}


def _beside(data: BenchmarkData, b: BatchGroup, title: str, rivals: Rivals) -> Comparison | None:
    """The fastest of ours on a batch beside rivals; None where none of ours has a time."""
    return Comparison(title, _names(data, b), b.ours[0], rivals(b)) if b.ours else None


def _names(data: BenchmarkData, b: BatchGroup) -> tuple[str, ...]:
    return name_of(b, data.study), units.count(b.batch_size)


def _batches(data: BenchmarkData, group: str = "") -> list[BatchGroup]:
    """The batches with a time of the subjects of a group, of all without one; in the order of cache states."""
    every = [b for b in batch_groups(data.study, every_operation=True) if b.timed and group in ("", _group(data, b))]
    return sorted(every, key=lambda b: b.cache)


def _added(data: BenchmarkData, group: str) -> list[BatchGroup]:
    """Those that add to y, as in the paper."""
    return [b for b in _batches(data, group) if b.operation == ADDED]


def _group(data: BenchmarkData, b: BatchGroup) -> str:
    """The group of the subject, or `mixed`."""
    return b.compose if b.compose == "mixed" else data.groups[b.matrix_id]


TABLES: Tables = {
    "conclusions": tabled("Beside the paper's conclusions, each judged (on a P100)", papers_conclusions),
    **{each.__name__: each for each in (random_matrices, growing, row_lengths, collection, mixed, auto, winners)},
}
