"""Results in a terminal: units, order and what stands where a time is missing."""

import io

import pytest
from rich.console import Console

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.records import Case, Measurement
from gpu_engine.studies.formats.experiment import ProductDetails
from gpu_engine.studies.results import findings_of
from gpu_engine.text.units import THIN
from sparsight.report import format_duration, format_ratio, print_findings
from tests.samples import batched


def measurement(kernel: str, median_s: float | None, **fields: object) -> Measurement:
    values: dict[str, object] = {"median_s": median_s}
    if median_s is not None:
        values |= {"ci_low_s": median_s - 2e-5, "ci_high_s": median_s + 2e-5, "gflops": 1e-3 / median_s}
        values |= {"min_s": median_s - 3e-5, "q3_s": median_s + 1e-5}
    case = Case(str(fields.pop("matrix_id", "m")), kernel, fields.pop("cache", "warm"))  # type: ignore[arg-type]
    return Measurement.of(case, "cpu", ProductDetails, **(values | fields))  # type: ignore[arg-type]


def rendered(measurements: list[Measurement], names: dict[str, str], width: int = 200) -> tuple[str, list[str]]:
    """What a terminal of that width shows, and the columns that it has no room for."""
    text = io.StringIO()
    data = StudyData(measurements, {matrix: MatrixFeatures(name) for matrix, name in names.items()})
    console = Console(file=text, width=width, force_terminal=True, color_system=None)
    hidden = print_findings(console, findings_of(data))
    return text.getvalue(), hidden


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, ""), (2.0, "2 s"), (0.0123, "12.3 ms"), (4.5e-6, "4.5 µs"), (7e-10, "0.7 ns"), (0.0, "0 ns")],
)
def test_a_duration_has_the_unit_of_its_size(seconds: float | None, shown: str) -> None:
    assert format_duration(seconds) == shown


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def headings_of(finding: Finding) -> list[str]:
    return [f"{head.text} {head.unit}".strip() for head in finding.table.heads]


def test_a_finding_is_its_title_its_sentences_and_its_table() -> None:
    slow = measurement("csr/scalar", 3e-3, aa_gap=0.0)
    fast = measurement("csr/vector", 1.5e-3, roofline_s=0.75e-3, max_error=0.5, stored_bytes=2**20, aa_gap=0.0)
    text, hidden = rendered([slow, fast], {"m": "cage"}, 300)
    (finding,) = findings_of(StudyData([slow, fast], {"m": MatrixFeatures("cage")}))
    lines = [line.rstrip().replace(THIN, " ") for line in text.splitlines()]
    assert lines[0] == "cage on cpu, warm"
    assert [lines[1]] == [sentence.replace(THIN, " ") for sentence in finding.sentences]
    assert cells(lines[2]) == headings_of(finding)
    assert len(headings_of(finding)) == 12
    assert cells(lines[3])[:7] == ["csr/vector", "baseline", "1.00 ×", "0.667", "1.50", "1.48 – 1.52", "50 %"]
    assert cells(lines[4])[:5] == ["csr/scalar", "slower", "0.50 ×", "0.333", "3.00"]
    assert hidden == []


def test_axes_stand_in_the_title() -> None:
    found = batched.shown(batched.multiplied("csr/smart", 1.0))
    text = io.StringIO()
    print_findings(Console(file=text, width=200), findings_of(found))
    first = text.getvalue().splitlines()[0].replace(THIN, " ")
    assert first == "west0989, 1,000 matrices on cuda:0, warm, batch=1000, compose=uniform, operation=y=Ax+y"


@pytest.mark.parametrize("width", [40, 80, 160])
def test_a_narrow_terminal_keeps_the_verdict_and_leaves_whole_columns_out(width: int) -> None:
    fast = measurement("csr/vector", 1.5e-3, max_error=0.5, stored_bytes=2**20)
    measurements = [fast, measurement("hyb/segmented", 3e-3)]
    text, hidden = rendered(measurements, {}, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    (headings,) = [cells(line) for line in lines if line.startswith("kernel ")]
    (finding,) = findings_of(StudyData(measurements, {"m": MatrixFeatures("m")}))
    assert [*headings, *hidden] == headings_of(finding)
    assert headings[:2] == ["kernel", "verdict"]


def test_cases_without_a_time_say_why_below_the_table_and_between_words() -> None:
    note = "the layout needs 41 GB and 16 GB are allowed"
    skipped = [measurement(kernel, None, state="skipped", note=note) for kernel in ("ell/thread", "ellr/thread")]
    text, _ = rendered([*skipped, measurement("csr/vector", 1e-3)], {}, 40)
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("kernel ")) + 1
    assert [cells(line)[:2] for line in lines[start : start + 3]] == [
        ["csr/vector", "baseline"], ["ell/thread", "skipped"], ["ellr/thread", "skipped"]
    ]  # fmt: skip
    assert " ".join(lines[start + 3 :]).strip() == f"ell/thread, ellr/thread: {note}"
    assert max(map(len, lines)) <= 40


def test_cache_states_have_tables_of_their_own_and_names_are_not_markup() -> None:
    cold = measurement("csr/vector", 1e-3, cache="cold")
    text, _ = rendered([measurement("csr/vector", 1e-3), cold], {"m": "[red]a[/]"})
    assert text.index("[red]a[/] on cpu, warm") < text.index("[red]a[/] on cpu, cold")


def test_no_measurement_gives_no_table() -> None:
    assert rendered([], {}) == ("", [])


@pytest.mark.parametrize(("ratio", "said"), [(0.02, "50.00 ×"), (3.618, "3.62 ×"), (1.0, "1.00 ×"), (None, "")])
def test_a_ratio_beside_its_word_is_at_least_one(ratio: float | None, said: str) -> None:
    assert format_ratio(ratio) == said
