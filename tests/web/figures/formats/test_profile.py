import math

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.formats import timed, titles, traces, untimed
from web.figures.formats.groups import NO_QUIET
from web.figures.formats.profile import draw, info, summary, table
from web.figures.panels import Panels
from web.palette import style


def kernels(matrix: str, csr_s: float, vector_s: float, ell_s: float | None) -> list[Measurement]:
    ell = timed("ell/thread", ell_s, matrix=matrix) if ell_s else untimed("ell/thread", "skipped", "", matrix=matrix)
    return [timed("csr/scalar", csr_s, matrix=matrix), timed("csr/vector", vector_s, matrix=matrix), ell]


RECORDS = [*kernels("m1", 4e-3, 2e-3, 1e-3), *kernels("m2", 3e-3, 1e-3, None), *kernels("m3", 9e-3, 1.01e-3, 1e-3)]
INFO = info(StudyData(RECORDS))


def factors(*more: Measurement) -> dict[str, tuple[float, ...]]:
    (panel,) = info(StudyData([*RECORDS, *more])).panels
    return {profile.kernel: profile.factors for profile in panel.profiles}


def test_a_factor_is_the_time_over_that_of_the_fastest() -> None:
    assert factors() == {
        "csr/vector": (1.0, 1.0, 2.0),
        "ell/thread": (1.0, 1.0, math.inf),
        "csr/scalar": pytest.approx((3.0, 4.0, 9.0)),
    }, "within what a kernel differs from itself is as good as the fastest; a skipped one never is"
    profile = INFO.panels[0].profiles[1]
    assert (profile.share(1.0), profile.timed, profile.area) == pytest.approx((2 / 3, 2 / 3, 2.0))


def test_lines_are_of_the_best_of_each_format_or_of_what_is_chosen() -> None:
    assert [profile.kernel for profile in INFO.panels[0].lines] == ["csr/vector", "ell/thread"]
    (chosen,) = info(StudyData(RECORDS, kernels=("csr/scalar", "csr/vector"))).panels
    assert [profile.kernel for profile in chosen.lines] == ["csr/vector", "csr/scalar"]


def test_six_lines_have_their_colours_the_baseline_among_them() -> None:
    many = [timed(f"{name}/k", 1e-3 * (1.0 + n)) for n, name in enumerate(("coo", "csr", "ell", "jad", "hyb", "csri"))]
    (panel,) = info(StudyData([*many, timed("ellr/k", 9e-3), timed("biell/k", 8e-3)], baseline="ellr/k")).panels
    assert [profile.kernel for profile in panel.named] == ["ellr/k", "coo/k", "csr/k", "ell/k", "csri/k", "hyb/k"]
    figure = draw(Panels((panel,)))
    assert {trace["name"] for trace in traces(figure, "line")} == {"biell/k", "jad/k"}
    labels = [label for label in figure.layout.annotations if label.xref == "x domain"]
    assert [label.text for label in labels] == [profile.kernel for profile in panel.named]
    samples = [(shape.line.color, shape.line.dash) for shape in figure.layout.shapes]
    lines = {trace["name"]: trace["line"] for trace in traces(figure, "profile")}
    assert samples == [(lines[p.kernel]["color"], lines[p.kernel]["dash"]) for p in panel.named]
    assert samples[1] == (style("coo").color, style("coo").dash)


def test_a_kernel_counts_where_it_was_tried_and_comes_last_where_it_was_not_everywhere() -> None:
    more = [timed(kernel, 1e-3, matrix="m4") for kernel in ("csr/scalar", "csr/vector")]
    lacking = info(StudyData([*RECORDS, *more]))
    found = {profile.kernel: len(profile.factors) for profile in lacking.panels[0].profiles}
    assert list(found.items()) == [("csr/vector", 4), ("csr/scalar", 4), ("ell/thread", 3)]
    assert " of 4 matrices." in summary(lacking)
    assert "fewer matrices" in summary(lacking)
    assert "fewer matrices" not in summary(INFO)


def test_a_matrix_without_times_or_of_a_busy_machine_does_not_count() -> None:
    assert factors(*(untimed(k, "failed", "", matrix="m5") for k in factors())) == factors()
    busy = [timed(kernel, 1e-3, matrix="m6", ci_low_s=1e-4, ci_high_s=1e-2) for kernel in factors()]
    assert factors(*busy) == factors()
    assert "of 3 matrices (1 more was too noisy)" in summary(info(StudyData([*RECORDS, *busy])))
    assert titles(draw(info(StudyData(busy)))) == [NO_QUIET]
    assert summary(info(StudyData(busy))) == NO_QUIET
    elsewhere = [timed(kernel, 1e-3, device="cuda:0") for kernel in factors()]
    assert "On cpu, warm, no matrix has usable timings." in summary(info(StudyData([*busy, *elsewhere])))


def test_the_algorithms_of_a_library_count_once() -> None:
    (panel,) = info(StudyData([timed(k, 1e-3) for k in ("cusparse/best", "cusparse/csr_alg1", "csr/vector")])).panels
    assert [profile.kernel for profile in panel.profiles] == ["csr/vector", "cusparse/best"]


def test_a_line_steps_up_at_each_factor() -> None:
    line = traces(draw(INFO), "profile")[0]
    assert (line["name"], line["x"], line["line"]["shape"]) == ("csr/vector", [1.0, 2.0, 4.0], "hv")
    assert line["y"] == pytest.approx([2 / 3, 1.0, 1.0])


def test_the_table_has_every_kernel_and_factor() -> None:
    assert [head.unit for head in table(INFO).heads][4:10] == ["1 ×", "1.1 ×", "1.25 ×", "1.5 ×", "2 ×", "4 ×"]
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in table(INFO).rows]
    assert rows[0] == ("csr/vector", "cpu", "warm", "3", "67 %", "67 %", "67 %", "67 %", "100 %", "100 %", "100 %")
    assert rows[2] == ("csr/scalar", "cpu", "warm", "3", "0 %", "0 %", "0 %", "0 %", "0 %", "67 %", "100 %")
