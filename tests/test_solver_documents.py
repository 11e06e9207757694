"""The tables of docs/h100-solvers.md and docs/h200-solvers.md are those of the recordings."""

import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import geometric_mean, median

import pytest

from gpu_engine.findings.bootstrap import interval_of_mean
from gpu_engine.findings.solvers.answer import Answer, answers
from gpu_engine.findings.solvers.consistent import NONE
from gpu_engine.findings.solvers.groups import SolveGroup, solve_groups
from gpu_engine.gpu_bench import solvers
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS
from gpu_engine.gpu_bench.markdown import BenchmarkData
from gpu_engine.recordings.files import RECORDED, read
from gpu_engine.text import units
from gpu_engine.text.units import THIN

DOCS = Path(__file__).parent.parent / "docs"
GPUS = ("h100", "h200")
LIBRARIES = ("cupy", "warp")


@cache
def data_of(gpu: str) -> BenchmarkData:
    return BenchmarkData(BENCHMARKS["solvers"].subjects, read(RECORDED / gpu / "solvers.json.gz"))


@cache
def document(gpu: str) -> str:
    return (DOCS / f"{gpu}-solvers.md").read_text(encoding="utf-8")


def answer_of(gpu: str) -> Answer:
    (answer,) = answers(data_of(gpu).study)
    return answer


def table(gpu: str, head: str) -> list[list[str]]:
    """The rows below a head, without code marks."""
    part = document(gpu).split(f"\n{head}", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in part.splitlines()[2:]]


def name_of(gpu: str, group: SolveGroup) -> str:
    return str(data_of(gpu).study.matrix(group.matrix_id).name).removesuffix(" system")


def plain(gpu: str) -> list[SolveGroup]:
    return [group for group in solve_groups(data_of(gpu).study) if group.preconditioner == NONE]


def ratio(value: float) -> str:
    return units.ratio(value).replace(THIN, "")


def time(value: float | None) -> str:
    return units.seconds(value).replace(THIN, " ")


def mean(values: Sequence[float]) -> str:
    ends = interval_of_mean(values)
    assert ends
    low, high = (ratio(end).removesuffix("×") for end in ends)
    return f"{ratio(geometric_mean(values))} ({low} to {high})"


@pytest.mark.parametrize("gpu", GPUS)
def test_speedups_of_one_solve(gpu: str) -> None:
    answer = answer_of(gpu)
    expected = []
    for method in answer.methods:
        mine = [each for each in answer.compared if each.group.method == method]
        pairs = [(each.pair.speedup, name_of(gpu, each.group)) for each in mine]
        ends = (f"{ratio(speedup)} {name}" for speedup, name in (min(pairs), max(pairs)))
        over = (ratio(geometric_mean(each.by_library[name].speedup for each in mine)) for name in LIBRARIES)
        expected.append([method, str(len(mine)), mean([speedup for speedup, _ in pairs]), *ends, *over])
    assert table(gpu, "| Method | Solves | Speedup (95 % CI)") == expected


@pytest.mark.parametrize("gpu", GPUS)
def test_speedups_of_many_solves(gpu: str) -> None:
    def spread(text: str) -> str:
        return re.sub(r" \((.*?)(?: system)?(?:, made .*)?\)$", r" \1", text)

    summary = next(iter(solvers.fastest(data_of(gpu)))).table.rows
    rows = [[cell.replace(THIN, "") for cell in row] for row in summary]
    expected = [
        [*row[:3], f"{row[3]} ({row[4].replace('×', '').replace(' – ', ' to ')})", spread(row[5]), spread(row[6])]
        for row in rows
    ]
    counted = [[*cells, ", ".join(row[7:11])] for cells, row in zip(expected, rows, strict=True)]
    assert sorted(table(gpu, "| Method | Over |")) == sorted(counted)


@pytest.mark.parametrize("gpu", GPUS)
def test_the_fastest_solve_of_every_system_and_method(gpu: str) -> None:
    expected = []
    for group in plain(gpu):
        matrix, solve = data_of(gpu).study.matrix(group.matrix_id), group.built_in[0]
        m = solve.measurement
        assert solve.spmv_share is not None
        over = [ratio((group.libraries[name].measurement.median_s or 0.0) / (m.median_s or 1.0)) for name in LIBRARIES]
        counts = units.count(matrix.n_rows), units.count(matrix.nnz)
        times = units.count(m.details.iterations), time(m.median_s), time(solve.iteration_s)
        share = f"{100 * solve.spmv_share:.0f} %"
        sizes = [count.replace(THIN, ",") for count in counts]
        expected.append([name_of(gpu, group), *sizes, group.method, solve.label, *times, share, *over])
    assert table(gpu, "| System | Rows | Nonzeros") == expected


@pytest.mark.parametrize("gpu", GPUS)
def test_solves_with_preconditioners(gpu: str) -> None:
    solved = {
        (name_of(gpu, group), group.method, group.preconditioner): group.built_in[0]
        for group in solve_groups(data_of(gpu).study)
    }
    rows = table(gpu, "| System | Method | none")
    assert {(name, method) for name, method, *_ in rows} == {(a, b) for a, b, kind in solved if kind != NONE}
    for name, method, *cells in rows:
        kinds = [NONE, "jacobi", "block-jacobi", "chebyshev", "ic" if method == "CG" else "ilu"]
        for kind, cell in zip(kinds, cells, strict=True):
            solve = solved.get((name, method, kind))
            m = solve.measurement if solve else None
            assert cell == (f"{m.details.iterations}, {time(m.median_s)}" if m else units.MISSING)


@pytest.mark.parametrize("gpu", GPUS)
def test_conversions_that_pay_back(gpu: str) -> None:
    rows = {cells[0]: cells[-3:] for cells in table(gpu, "| Kernel | ")}
    known: dict[str, list[tuple[bool, float]]] = {}
    for group in plain(gpu):
        for solve in group.built_in:
            pays, needed = group.pays_back(solve), group.break_even(solve)
            if pays is not None and needed is not None:
                known.setdefault(solve.label, []).append((pays, needed))
    assert rows.keys() == known.keys()
    for kernel, each in known.items():
        finite = [needed for _, needed in each if math.isfinite(needed)]
        counts = str(sum(pays for pays, _ in each)), str(len(each) - len(finite))
        assert rows[kernel] == [*counts, f"{median(finite):.0f} iterations"]


@pytest.mark.parametrize("gpu", GPUS)
def test_the_headline_is_that_of_the_page(gpu: str) -> None:
    answer, (head, rest) = answer_of(gpu), document(gpu).split("\n## ", 1)
    paying, total = answer.paying
    for text in (ratio(answer.tally.mean), ratio(answer.many.mean), f"in {paying} of {total} solves"):
        assert text in head
    lowest = min(each.many.speedup for each in answer.compared)
    assert f"never below {ratio(lowest)}" in head
    assert f"{len(answer.compared)} solves without a preconditioner" in head
    assert f"TABLES={gpu}/solvers" in rest
