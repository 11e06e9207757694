import pytest

from tests.web.run_samples import luxembourg, ran, shown
from tests.web.samples import titles, traces
from web.figures.pagerank.total import draw, summary, table
from web.shown import Shown
from web.units import THIN

FOUND = shown(
    ran("csr/thread+fp64", 28, 0.2, floor_s=0.1),
    ran("csr/thread+cpms2", (13, 15), 0.16, floor_s=0.08),
    ran("csr/thread+fp32", 28, 0.1, floor_s=0.06, residual=1e-8),
    ran("split/tile+fp64", 28, 0.08, floor_s=0.1),
    ran("split/tile+free", 28, 0.05, floor_s=0.04),
    ran("split/tile+free-cpms2", (13, 15), 0.04, floor_s=0.03),
)


def test_a_bar_is_the_time_of_fp64_over_that_of_the_run() -> None:
    gains = {label: x for bar in traces(draw(FOUND), "kernel") for label, x in zip(bar["y"], bar["x"], strict=True)}
    assert gains == pytest.approx(
        {
            "csr/thread+fp32": 2.0,
            "csr/thread+cpms2": 1.25,
            "split/tile+free": 1.6,
            "split/tile+free-cpms2": 1.25,
        }
    )


def test_the_mark_is_the_bound_by_bytes() -> None:
    (marks,) = traces(draw(FOUND), "floor")
    assert dict(zip(marks["y"], marks["x"], strict=True)) == pytest.approx(
        {
            "csr/thread+fp32": 1 / 0.6,
            "csr/thread+cpms2": 1.25,
            "split/tile+free": 2.5,
            "split/tile+free-cpms2": 4 / 3,
        }
    )
    assert traces(draw(shown(ran("csr/thread+fp64", 9, floor_s=None), ran("csr/thread+fp32", 9))), "floor") == []


def test_a_run_with_wrong_ranks_is_pale_and_enters_no_mean() -> None:
    pale = [bar for bar in traces(draw(FOUND), "kernel") if bar["opacity"] < 1]
    assert [(bar["name"], bar["y"]) for bar in pale] == [("ranks not right to ε", ["csr/thread+fp32"])]
    others = ran("csr/thread+fp64", 28, 0.2, "del"), ran("csr/thread+cpms2", (13, 15), 0.1, "del")
    fp32 = ran("csr/thread+fp32", 28, 0.1, "del", residual=1e-8)
    both = Shown(
        [*FOUND.measurements, *(m for m, _ in others), fp32[0]],
        traces=FOUND.traces,
    )
    assert (
        summary(both)
        .replace(THIN, " ")
        .endswith(
            "Geometric means of what is not ambiguous on cpu, number of matrices in brackets: "
            "csr/thread+cpms2 1.58 × (2), split/tile+free 1.60 × (1), split/tile+free-cpms2 1.25 × (1)."
        )
    )
    assert "means" not in summary(FOUND)
    whole = (("first", "2"), ("near", "16"), ("stall", "0.98"), ("at_end", "fp64"))
    no_gain = (
        ran("csr/thread+cpms2", (0, 28), 0.02, "del", axes=whole),
        ran("csr/thread+cpms4", (0, 13, 14, 1), 0.1, "del", ci_high_s=0.3),
    )
    more = Shown([*both.measurements, *(m for m, _ in no_gain)], traces=FOUND.traces)
    assert summary(more) == summary(both)


def test_the_table_has_both_ratios_and_the_verdict() -> None:
    rows = {row[2]: tuple(cell.replace(THIN, " ") for cell in row[3:]) for row in table(FOUND).rows}
    assert rows["csr/thread+cpms2"] == ("csr/thread+fp64", "1.25 ×", "1.25 ×", "faster", "0.31 ×")
    assert rows["split/tile+free-cpms2"] == ("split/tile+free", "1.25 ×", "1.33 ×", "faster", "1.25 ×")
    assert "csr/thread+fp64" not in rows


def test_devices_are_never_compared() -> None:
    found = shown(ran("csr/thread+fp64", 28, 0.2), ran("csr/thread+cpms2", (13, 15), 0.1, device="cuda:0"))
    assert table(found).rows == ()
    assert titles(draw(shown(*luxembourg(), *luxembourg("cuda:0")))) == [
        "luxembourg_osm · cpu",
        "luxembourg_osm · cuda:0",
    ]


def test_no_results() -> None:
    nothing = "No run has a time beside a run of the same kernel in fp64."
    for found in (Shown(), shown(ran("csr/thread+fp64", 28))):
        assert titles(draw(found)) == [nothing]
        assert (table(found).rows, summary(found)) == ((), nothing)
