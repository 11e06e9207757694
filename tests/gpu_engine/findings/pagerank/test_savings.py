"""What segments gain over the same kernel in fp64, over several graphs, by value."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.savings import FASTEST, pull_means, pulls, savings
from gpu_engine.pagerank.details import PageRankDetails
from gpu_engine.records import Case, Measurement, Trace
from gpu_engine.text import units
from gpu_engine.text.tables import Table

AXES = "start_segments=1,raise_at=16,stall_ratio=0.98,final_storage="


def run(matrix: str, kernel: str, ms: float, axes: str = "", floor_ms: float = 2.0, **fields: Any) -> Measurement:
    case = Case.parse(f"{matrix}|{kernel}|warm|{axes}")
    fields |= {"iterations": 10, "roofline_s": floor_ms * 1e-3, "residual": 1e-11, "median_s": ms * 1e-3}
    return Measurement.of(case, "cuda:0", PageRankDetails, **fields)


def trace(m: Measurement, read: Sequence[int], written: Sequence[int], us: Sequence[float], probe: Any = None) -> Trace:
    """With microseconds of the products, and of the probe."""
    values = {"read": read, "written": written, "pull_s": us, "gather_s": probe or [0.0] * len(us)}
    scaled = {name: tuple(x * (1e-6 if name.endswith("_s") else 1.0) for x in v) for name, v in values.items()}
    return Trace(m.case, scaled)


def shown(*measurements: Measurement, traces: Sequence[Trace] = ()) -> StudyData:
    return StudyData(measurements, traces={("cuda:0", t.case): t for t in traces})


def plain(table: Table) -> list[list[str]]:
    return [[cell.replace(units.THIN, " ") for cell in row] for row in table.rows]


FP64 = run("grid", "split/tile+fp64", 4.0)
TWO = run("grid", "split/tile+cpms2", 3.2, AXES + "segments", 1.6)
FOUR = run("grid", "split/tile+cpms4", 5.0, AXES + "fp64", 1.0)


def test_speed_up_and_share_of_the_saving() -> None:
    # 4 / 3.2 of 2 / 1.6: all of the saving; 4 / 5 of 2 / 1: less than nothing.
    assert plain(savings(shown(FP64, TWO, FOUR))) == [
        [
            *("split/tile+cpms2, segments at the end", "1", "1.25 ×", "–", "1.25 × (grid)", "1.25 × (grid)"),
            *("100 %", "–", "100 % (grid)", "100 % (grid)"),
        ],
        [
            *("split/tile+cpms4, fp64 at the end", "1", "0.80 ×", "–", "0.80 × (grid)", "0.80 × (grid)"),
            *("−20 % (median)", "–", "−20 % (grid)", "−20 % (grid)"),
        ],
    ]


def test_shares_of_several_graphs_have_a_geometric_mean() -> None:
    other = dataclasses.replace(FP64, case="h|split/tile+fp64|warm|", matrix_id="h")
    # 4 / 3.76…: a quarter of the saving.
    quarter = dataclasses.replace(TWO, case=TWO.case.replace("grid", "h"), matrix_id="h", median_s=4e-3 / 1.0625)
    (row,) = plain(savings(shown(FP64, TWO, other, quarter)))
    assert row[6:] == ["50 %", "–", "25 % (h)", "100 % (grid)"]


def test_without_a_saving_there_is_no_share_and_without_fp64_no_row() -> None:
    # Bytes that allow 1.004 times allow nothing that could be shared.
    for roofline_s in (2e-3, 2e-3 / 1.004):
        (row,) = plain(savings(shown(FP64, dataclasses.replace(TWO, roofline_s=roofline_s))))
        assert row[6:] == ["–"] * 4
    assert savings(shown(TWO)).rows == ()


def test_free_segments_are_held_against_free_numbers() -> None:
    free = run("grid", "split/tile+pattern", 2.0)
    heads = run("grid", "split/tile+pattern-cpms2", 1.6, AXES + "fp64", 1.0)
    (row,) = plain(savings(shown(FP64, free, heads)))
    assert (row[2], row[6]) == ("1.25 ×", "25 %")


def test_other_schedules_and_lower_triangles_are_in_no_mean_of_the_usual_ones() -> None:
    second = run("grid", "split/tile+cpms2", 1.0, AXES.replace("start_segments=1", "start_segments=2") + "segments")
    lower = [
        run("grid", kernel, 4.0, axes)
        for kernel, axes in (("split/tile+fp64", ""), ("split/tile+cpms2", AXES + "segments"))
    ]
    lower = [
        dataclasses.replace(
            m, case=f"{m.case}{',' if m.axes else ''}triangle=lower", axes={**m.axes, "triangle": "lower"}
        )
        for m in lower
    ]
    rows = plain(savings(shown(FP64, TWO, second, *lower)))
    assert [(row[0], row[1]) for row in rows] == [
        ("split/tile+cpms2, segments at the end", "1"),
        ("split/tile+cpms2, segments at the end, lower triangles", "1"),
    ]


def test_products_on_fewer_segments_are_held_against_fp64_and_the_probe() -> None:
    traces = (
        trace(FP64, [0, 0, 0], [0, 0, 0], [60.0, 50.0, 10.0], [40.0, 40.0, 40.0]),
        # The change of precision, 1 to 2, is neither.
        trace(TWO, [1, 1, 1, 2], [1, 1, 2, 2], [30.0, 20.0, 99.0, 50.0], [20.0, 20.0, 20.0, 40.0]),
        trace(FOUR, [1, 2, 3], [2, 2, 3], [7.0, 40.0, 62.5], [0.0, 0.0, 32.0]),
    )
    assert sorted(plain(pulls(shown(FP64, TWO, FOUR, traces=traces)))) == [
        ["grid", "split/tile+cpms2", "50.0 µs", "2.00 × of 2.00 ×", "–", "–"],
        ["grid", "split/tile+cpms4", "50.0 µs", "–", "1.25 ×", "0.80 × of 1.25 ×"],
    ]


def test_the_fastest_layout_with_values_has_a_mean_of_its_own() -> None:
    slow, heads = run("grid", "csr/thread+fp64", 90.0), run("grid", "csr/thread+cpms2", 30.0, AXES + "fp64")
    traces = (
        trace(FP64, [0], [0], [50.0], [40.0]),
        trace(TWO, [1], [1], [40.0], [20.0]),
        trace(slow, [0], [0], [80.0], [40.0]),
        trace(heads, [1], [1], [20.0], [20.0]),
    )
    found = {row[0]: row[2] for row in plain(pull_means(shown(FP64, TWO, slow, heads, traces=traces)))}
    assert found == {"csr/thread+cpms2": "4.00 ×", "split/tile+cpms2": "1.25 ×", FASTEST: "1.25 ×"}
    # Lower triangles are in a mean of their own alone.
    full = run("grid", "split/tile+fp64", 4.0, "triangle=lower")
    lower = run("grid", "split/tile+cpms2", 3.2, AXES + "segments,triangle=lower")
    both = (trace(full, [0], [0], [50.0]), trace(lower, [1], [1], [25.0]))
    rows = plain(pull_means(shown(FP64, TWO, slow, heads, full, lower, traces=[*traces, *both])))
    assert {row[0]: row[2] for row in rows} == found | {"split/tile+cpms2, lower triangles": "2.00 ×"}
    assert {row[1] for row in rows} == {"1"}


def test_of_two_ends_the_faster_one_counts() -> None:
    slower = dataclasses.replace(TWO, case=TWO.case.replace("segments", "fp64"), median_s=3.6e-3)
    traces = (trace(FP64, [0], [0], [50.0]), trace(slower, [1], [1], [40.0]), trace(TWO, [1], [1], [25.0]))
    (row,) = plain(pulls(shown(FP64, slower, TWO, traces=traces)))
    assert row[3] == "2.00 ×"
