from dataclasses import replace

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.formats import traces
from tests.samples.pagerank import ran, shown
from web.figures import markers
from web.figures.pagerank import dots
from web.figures.pagerank.total import Row, draw, info, summary, table

DATA = shown(
    ran("csr/thread+fp64", 28, 0.2, roofline_s=0.1),
    ran("csr/thread+cpms2", (13, 15), 0.16, roofline_s=0.08),
    ran("csr/thread+fp32", 28, 0.1, roofline_s=0.06, residual=1e-8),
    ran("split/tile+fp64", 28, 0.08, roofline_s=0.1),
    ran("split/tile+pattern", 28, 0.05, roofline_s=0.04),
    ran("split/tile+pattern-cpms2", (13, 15), 0.04, roofline_s=0.03),
)
INFO = info(DATA)
ROWS: dict[str, Row] = {row.label: row for panel in INFO.panels.panels for row in panel.rows}


def test_a_run_stands_beside_the_same_kernel_in_fp64() -> None:
    assert {label: (row.against, row.speed_up, row.bound, row.over_fastest) for label, row in ROWS.items()} == {
        "csr/thread+fp32": ("csr/thread+fp64", *map(pytest.approx, (2.0, 1 / 0.6, 0.5))),
        "csr/thread+cpms2": ("csr/thread+fp64", *map(pytest.approx, (1.25, 1.25, 0.3125))),
        "split/tile+pattern": ("split/tile+fp64", *map(pytest.approx, (1.6, 2.5, 1.0))),
        "split/tile+pattern-cpms2": ("split/tile+pattern", *map(pytest.approx, (1.25, 4 / 3, 1.25))),
    }
    assert {row.verdict for row in ROWS.values()} == {"faster"}
    assert [label for label, row in ROWS.items() if not row.is_right] == ["csr/thread+fp32"]
    apart = shown(ran("csr/thread+fp64", 28, 0.2), ran("csr/thread+cpms2", (13, 15), 0.1, device="cuda:0"))
    assert info(apart).panels.panels == (), "devices are never compared"


def test_a_mean_is_of_what_is_right_and_decided() -> None:
    others = ran("csr/thread+fp64", 28, 0.2, "del"), ran("csr/thread+cpms2", (13, 15), 0.1, "del")
    whole = (("start_segments", "2"), ("raise_at", "16"), ("stall_ratio", "0.98"), ("final_storage", "fp64"))
    no_gain = (
        ran("csr/thread+fp32", 28, 0.1, "del", residual=1e-8),
        ran("csr/thread+cpms2", (0, 28), 0.02, "del", axes=whole),
        ran("csr/thread+cpms4", (0, 13, 14, 1), 0.1, "del", ci_high_s=0.3),
    )

    def with_(*runs: Measurement) -> StudyData:
        return StudyData([*DATA.measurements, *runs], traces=DATA.traces)

    both = info(with_(*(m for m, _ in (*others, *no_gain))))
    means = both.means["cpu"]
    assert [(mean.kernel.partition("+")[2], mean.matrices) for mean in means] == [
        ("cpms2", 2),
        ("pattern", 1),
        ("pattern-cpms2", 1),
    ]
    assert [mean.speed_up for mean in means] == pytest.approx([(1.25 * 2) ** 0.5, 1.6, 1.25])
    said = summary(both).replace(THIN, " ")
    assert "on cpu, conclusive runs only (graphs): split/tile+pattern 1.60 × (1), csr/thread+cpms2 1.58 × (2), " in said
    assert INFO.means == {}, "of one matrix there is none"


def test_bars_whose_ranks_are_not_right_are_pale() -> None:
    bars = traces(draw(INFO), "kernel")
    pale = [(bar["name"], bar["y"]) for bar in bars if bar["opacity"] < 1]
    assert pale == [("ranks not verified to ε", ["csr/thread+fp32"])]
    assert sum(len(bar["y"]) for bar in bars) == 4


def test_an_ambiguous_bar_is_pale_and_has_its_whisker() -> None:
    data = shown(ran("csr/thread+fp64", 28, 0.2), ran("csr/thread+cpms2", (13, 15), 0.16))
    base, steady = data.measurements
    wide = replace(steady, ci_low_s=0.02, ci_high_s=0.9)
    (pale,) = traces(draw(info(replace(data, measurements=[base, wide]))), "kernel")
    assert (pale["name"], pale["y"], pale["opacity"]) == ("inconclusive", ["csr/thread+cpms2"], 0.3)
    ends = pale["x"][0] - pale["error_x"]["arrayminus"][0], pale["x"][0] + pale["error_x"]["array"][0]
    assert ends == pytest.approx(markers.ratio_interval(base, wide))


def test_the_mark_is_the_bound_by_bytes() -> None:
    (marks,) = traces(draw(INFO), "floor")
    assert marks["y"] == list(ROWS)
    without = info(shown(ran("csr/thread+fp64", 9, roofline_s=None), ran("csr/thread+fp32", 9)))
    assert traces(draw(without), "floor") == []


def test_the_table_has_both_ratios_and_the_verdict() -> None:
    rows = {row[2]: tuple(cell.replace(THIN, " ") for cell in row[3:]) for row in table(INFO).rows}
    assert rows["csr/thread+cpms2"] == ("csr/thread+fp64", "1.25 ×", "1.25 ×", "faster", "0.31 ×")


def test_of_several_graphs_a_kernel_is_a_row_of_points_with_their_mean() -> None:
    more = [ran("csr/thread+fp64", 28, 0.02, "del"), ran("csr/thread+cpms2", (13, 15), 0.01, "del")]
    figure = draw(info(StudyData([*DATA.measurements, *(m for m, _ in more)], traces=DATA.traces)))
    (row,) = (trace for trace in traces(figure, "point") if trace["y"][0] == "csr/thread+cpms2")
    assert row["x"] == pytest.approx([1.25, 2.0])
    assert row["error_x"]["array"][1] > 0
    (means,) = traces(figure, "floor")
    assert dict(zip(means["y"], means["x"], strict=True))["csr/thread+cpms2"] == pytest.approx((1.25 * 2) ** 0.5)


def test_lower_triangles_are_in_no_mean_of_whole_graphs() -> None:
    lower = [ran("csr/thread+fp64", 28, 0.02, matrix, axes=(("triangle", "lower"),)) for matrix in ("lux", "del")]
    lower += [
        ran("csr/thread+cpms2", (13, 15), 0.01, matrix, axes=(("triangle", "lower"),)) for matrix in ("lux", "del")
    ]
    data = StudyData([*DATA.measurements, *(m for m, _ in lower)], traces=DATA.traces)
    (place, (mean,)), *others = info(data).means.items()
    assert (place, mean.kernel, mean.matrices, others) == ("cpu, lower triangles", "csr/thread+cpms2", 2, [])
    assert mean.speed_up == pytest.approx(2.0)


def test_of_many_kernels_those_with_the_highest_means_are_drawn() -> None:
    graphs = [
        run
        for graph in ("lux", "del")
        for k in range(dots.ROWS_MAX + 2)
        for run in (
            ran(f"k{k}/thread+fp64", 28, 0.2, graph),
            ran(f"k{k}/thread+cpms2", (13, 15), 0.2 / (1.1 + 0.1 * k), graph),
        )
    ]
    many = info(shown(*graphs))
    names = {name for trace in traces(draw(many), "point") for name in trace["y"]}
    assert names == {f"k{k}/thread+cpms2" for k in range(2, dots.ROWS_MAX + 2)}
    assert "Showing the 20 rows with the highest means of 22; the table has all." in summary(many).splitlines()[0]
    assert len(table(many).rows) == 44
    assert "Drawn are" not in summary(INFO)
