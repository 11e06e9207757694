"""Figures of complete solves: time, residual, and share of the SpMVs."""

from typing import Any

import pytest

from gpu_engine.findings.data import StudyData
from tests.samples.solvers import ITERATIONS, KERNELS, LIBRARY, every, failed, shown, solved
from web.figures.solvers import residuals, shares, times
from web.figures.solvers.problems import NO_SOLVE, PANELS_MAX

MODULES = (times, residuals, shares)
DATA = shown(*every(), *every("fem", "cuda:1"))
WAYS = ["CG", "CG, jacobi", "GMRES", "BiCGSTAB"]
BY_TOTAL = ["CG, jacobi", "CG", "BiCGSTAB", "GMRES"]
"""The same by the total of one solve."""


@pytest.mark.parametrize("module", MODULES)
def test_a_panel_per_problem_and_a_row_per_solve(module: Any) -> None:
    info = module.info(DATA)
    assert [panel.place for panel in info.panels] == [("plane-5", "cuda:0"), ("fem3", "cuda:1")]
    assert [row.way for row in info.panels[0].rows if row.solve.label == "sellp/t1"] == (
        BY_TOTAL if module is times else WAYS
    )
    table = module.table(info)
    assert len(table.rows) == sum(len(panel.rows) for panel in info.panels)
    assert {len(row) for row in table.rows} == {len(table.heads)}
    assert module.draw(info).data
    assert module.summary(info)


@pytest.mark.parametrize(
    ("module", "reason"), [(times, NO_SOLVE), (residuals, residuals.NO_TRACE), (shares, shares.NO_SHARE)]
)
def test_without_a_time_it_says_so(module: Any, reason: str) -> None:
    for data in (shown(), shown(failed("csr/vector", "status indefinite"))):
        info = module.info(data)
        assert module.summary(info) == reason
        assert module.draw(info).layout.annotations[0].text == reason
        assert module.table(info).rows == ()


def test_times_are_a_point_per_kernel_and_library() -> None:
    figure = times.draw(times.info(shown(*every())))
    by_name = {trace.name: trace for trace in figure.data}
    assert by_name.keys() == {*KERNELS, LIBRARY}
    trace = by_name["sellp/t1"]
    assert list(trace.y) == BY_TOTAL
    # 420 iterations and the conversion.
    assert trace.x[1] == pytest.approx(420 * 24e-6 + 1.2e-3)
    assert trace.customdata[1] == ["cuda:0 plane|sellp/t1|warm|method=cg,preconditioner=none,rtol=1e-08"]
    assert figure.layout.xaxis.type == "log"
    assert all(text.endswith("s") for text in figure.layout.xaxis.ticktext)


def test_libraries_have_different_marks() -> None:
    data = shown(solved(), *(solved(name) for name in times.OF_LIBRARIES if name != "scipy/solver"))
    symbols = {trace.name: trace.marker.symbol for trace in times.draw(times.info(data)).data}
    assert len({symbols[name] for name in symbols if name in times.OF_LIBRARIES}) == 4


def test_residuals_are_drawn_over_iterations_and_over_time() -> None:
    figure = residuals.draw(residuals.info(shown(*every())))
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert [trace.name for trace in lines if trace.xaxis == "x"] == WAYS
    (left, right) = (trace for trace in lines if trace.name == "CG")
    assert (left.x[0], left.x[-1]) == (10, ITERATIONS["cg", "none"])
    # 420 iterations of 24 µs, in ms.
    assert right.x[-1] == pytest.approx(10.08)
    assert left.y == right.y
    assert len({trace.line.color for trace in lines}) == 3
    assert len({trace.line.dash for trace in lines}) == 2


def test_a_residual_of_zero_has_no_place_on_a_log_axis() -> None:
    measurement = solved()
    data = shown(measurement)
    (key, trace), *_ = data.traces.items()
    arrays = {"iteration": (10.0, 20.0), "residual": (0.1, 0.0)}
    data = StudyData(data.measurements, data.matrices, traces={key: type(trace)(trace.case, arrays)})
    assert residuals.info(data).panels[0].rows[0].points == ((10.0, 0.1),)


def test_the_table_of_residuals_has_the_iterations_to_each_goal() -> None:
    row = residuals.table(residuals.info(shown(solved()))).rows[0]
    assert row[4:9] == ("110", "210", "320", "420", "420")


def test_shares_are_those_of_the_fastest_kernels_and_the_table_has_all() -> None:
    info = shares.info(shown(*every(solves=(("cg", "none"),))))
    assert [row.solve.label for row in info.panels[0].rows] == ["sellp/t1", "packed/tile", "csr/vector"]
    assert [row.share for row in info.panels[0].rows] == pytest.approx([0.5, 15 / 27, 0.6])
    assert [row[9] for row in shares.table(info).rows] == ["200", "33,334", "–"]
    assert len(shares.draw(info).data) == 3


def test_many_systems_have_only_some_panels() -> None:
    data = shown(*(m for number in range(PANELS_MAX + 2) for m in every(f"m{number}", solves=(("cg", "none"),))))
    for module in MODULES:
        info = module.info(data)
        assert len(info.visible) == PANELS_MAX
        assert f"{PANELS_MAX} of {PANELS_MAX + 2} systems" in module.summary(info)
        assert len(module.table(info).rows) >= PANELS_MAX + 2
