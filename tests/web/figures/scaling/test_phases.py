from dataclasses import replace
from typing import Any

import pytest

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.text.units import THIN
from tests.samples.formats import titles, traces
from tests.samples.scaling import by_cusparse, cold, product, resident, shared, shown, unworked, worked
from web.figures.scaling.markers import ROWS_MAX, VIRTUAL_NOTE
from web.figures.scaling.phases import NO_PHASES, draw, info, summary, table

near: Any = pytest.approx
"""Untyped, for it stands among names and in dataclasses."""

DATA = shown(*shared(), unworked("pCSR/p*", "no", 8))


def labels(data: StudyData) -> list[str]:
    """Return the labels of the bars of a single panel."""
    (panel,) = info(data).bars.panels
    return [bar.label for bar in panel.items]


def test_bars_have_phases_by_number_of_devices_and_strategy() -> None:
    assert labels(DATA) == [f"{name} · {devices}" for devices in (1, 2, 4) for name in ("baseline", "p*", "p*-opt")]
    (panel,) = info(DATA).bars.panels
    last = panel.items[-1]
    assert last.phases == {"partition": 0.009, "distribute": 0.015, "compute": 0.004, "merge": 0.004}
    assert (last.together, last.hidden) == (near(0.032), None)
    assert (info(DATA).in_shares, info(replace(DATA, chosen={"phases": ("shares",)})).in_shares) == (False, True)


def test_a_library_and_another_place_to_merge_have_bars_of_their_own() -> None:
    on_device = [product("pCSR/p*", devices, (1e-3,) * 4, options={"merge": "device"}) for devices in (1, 4)]
    assert [label for label in labels(shown(*cold(), *on_device)) if label.startswith("p*,")] == [
        "p*, merge host · 1",
        "p*, merge device · 1",
        "p*, merge host · 2",
        "p*, merge host · 4",
        "p*, merge device · 4",
    ]
    with_library = labels(shown(*cold(), *by_cusparse(cold(), 1.0, 1.5)))
    assert (len(with_library), with_library[-1]) == (18, "p*-opt, cusparse · 4")


def test_phases_are_stacked_in_times_or_in_shares() -> None:
    times, shares = (draw(info(replace(DATA, chosen={"phases": (phases,)}))) for phases in ("", "shares"))
    assert [bar["name"] for bar in traces(times, "kernel")] == ["partition", "distribute", "compute", "merge"]
    assert [bar["x"][-1] for bar in traces(times, "kernel")] == near([9, 15, 4, 4])
    assert [bar["x"][-1] for bar in traces(shares, "kernel")] == near([28.125, 46.875, 12.5, 12.5])
    assert [figure.layout.xaxis.title.text for figure in (times, shares)] == ["ms", "% of all phases"]
    assert times.layout.barmode == "stack"


def test_packing_is_a_phase_of_packed_products_and_phases_have_bounds() -> None:
    phases = {"partition": 1e-3, "distribute": 4e-3, "compute": 1e-3, "merge": 1e-3, "packing": 3e-3}
    bounds = {"distribute": 3e-3, "packing": 2e-3}
    packed = worked("pCSR/p*-packed", 0.01, phases_s=phases, bounds_s=bounds)
    found = info(shown(packed))
    assert [bar["name"] for bar in traces(draw(found), "kernel")] == list(phases)
    assert [cell.replace(THIN, " ") for cell in table(found).rows[-1][-4:]] == ["2.00 ms", "3.00 ms", "–", "–"]


def test_a_partitioning_has_a_panel() -> None:
    both = info(shown(*cold(), *cold("fem", "cpu", "pCOO"), *resident()))
    assert titles(draw(both)) == ["web_graph · cuda:0 · pCSR", "fem3 · cpu (simulated) · pCOO"]
    assert summary(both).endswith(VIRTUAL_NOTE.strip())


def test_the_table_has_the_overheads_of_the_paper() -> None:
    longer = replace(cold()[-1], median_s=0.04)
    numbers = table(info(shown(*cold()[:-1], longer, *resident())))
    assert [cell.replace(THIN, " ") for cell in numbers.rows[-1][2:]] == [
        *("pCSR/p*-opt", "4", "9.00 ms", "15.0 ms", "4.00 ms", "4.00 ms", "–", "32.0 ms"),
        *("40.0 ms", "0.1 %", "22 %", "60 %", "10 %", "–", "–", "–", "–"),
    ], "threads that start and end are in the time and in no phase"
    overheads = [head.unit for head in numbers.heads if head.text == "partition overhead"]
    assert overheads == ["partition", "with distribute"]


def test_more_matrices_than_are_read_are_in_the_table() -> None:
    ids = [f"m{i}" for i in range(10)]
    phases = info(StudyData([m for i in ids for m in cold(i)], {i: MatrixFeatures(i) for i in ids}))
    assert len(titles(draw(phases))) == phases.bars.number == ROWS_MAX // 9
    assert "Showing the first 8 of 10 panels; the table has all." in summary(phases).splitlines()[0]
    assert len(table(phases).rows) == 90


@pytest.mark.parametrize("data", [StudyData(), shown(*resident()), shown(worked("pCSR/p*", 1.0))])
def test_no_results(data: StudyData) -> None:
    phases = info(data)
    assert (titles(draw(phases)), table(phases).rows, summary(phases)) == ([NO_PHASES], (), NO_PHASES)
